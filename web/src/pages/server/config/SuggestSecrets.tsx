import { Combobox, useCombobox } from '@mantine/core'
import { type ReactElement, useEffect } from 'react'
import { useSecrets } from '../../../data/settings.ts'
import { t } from './messages.ts'

/** The beginning of a reference at the end of a line. */
const OPEN = /\$\{secret:([\w.-]*)$/m

/** Enter chooses a name, and nothing else, while names are suggested. */
export const isSuggesting = (value: string): boolean => OPEN.test(value)

interface Props {
  readonly value: string
  readonly onChange: (value: string) => void
  /** The field. */
  readonly children: ReactElement
}

/** Suggests the names of named secrets where `${secret:` is typed. */
export function SuggestSecrets({ value, onChange, children }: Props) {
  const store = useCombobox()
  const { data } = useSecrets()
  const typed = OPEN.exec(value)?.[1]
  const names = (data?.items ?? [])
    .map(({ name }) => name)
    .filter((name) => typed !== undefined && name.toLowerCase().includes(typed.toLowerCase()))
  const isOpen = names.length > 0
  const { openDropdown, closeDropdown, updateSelectedOptionIndex } = store
  useEffect(() => {
    if (isOpen) openDropdown()
    else closeDropdown()
  }, [isOpen, openDropdown, closeDropdown])
  // biome-ignore lint/correctness/useExhaustiveDependencies: the names that fit are others after each character.
  useEffect(() => updateSelectedOptionIndex(), [typed, updateSelectedOptionIndex])
  return (
    <Combobox
      store={store}
      onOptionSubmit={(name) => onChange(value.replace(OPEN, () => `$\{secret:${name}}`))}
    >
      <Combobox.Target withAriaAttributes={isOpen}>{children}</Combobox.Target>
      <Combobox.Dropdown hidden={!isOpen}>
        <Combobox.Options aria-label={t('suggestions')}>
          {names.map((name) => (
            <Combobox.Option key={name} value={name}>
              <span className="mono">{name}</span>
            </Combobox.Option>
          ))}
        </Combobox.Options>
      </Combobox.Dropdown>
    </Combobox>
  )
}
