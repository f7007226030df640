import { TextInput } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { reveal } from '../../../data/server/server-changes.ts'
import type { Server } from '../../../data/servers.ts'
import { Act, IconAct } from '../../../parts/controls/Act.tsx'
import { useRevealed } from '../use-revealed.ts'
import css from './Config.module.css'
import { t } from './messages.ts'
import { isSuggesting, SuggestSecrets } from './SuggestSecrets.tsx'

type Map = Readonly<Record<string, string>>

interface Props {
  readonly server: Server
  readonly field: 'env' | 'headers'
  readonly values: Map
  /** The value to focus. One that does not exist yet gets a row. */
  readonly wanted: string | undefined
  readonly onChange: (values: Map) => void
}

/** Variables or headers. A stored value is `***` until it is revealed or replaced. */
export function Values({ server, field, values, wanted, onChange }: Props) {
  const names = Object.keys(values)
  const isNew = wanted !== undefined && wanted !== '' && !names.includes(wanted)
  const without = (name: string) => Object.fromEntries(Object.entries(values).filter(([key]) => key !== name))
  return (
    <fieldset className={css.values} aria-label={t(field)}>
      <span className={css.label}>{t(field)}</span>
      {names.map((name) => (
        <ValueRow
          key={name}
          server={server}
          field={field}
          name={name}
          value={values[name] ?? ''}
          isStored={values[name] === '***'}
          isWanted={name === wanted}
          onChange={(value) => onChange({ ...values, [name]: value })}
          onRemove={() => onChange(without(name))}
        />
      ))}
      <NewValue
        key={isNew ? wanted : 'new'}
        name={isNew ? wanted : ''}
        isWanted={isNew || wanted === ''}
        onAdd={(name, value) => onChange({ ...values, [name]: value })}
      />
    </fieldset>
  )
}

interface RowProps {
  readonly server: Server
  readonly field: Props['field']
  readonly name: string
  readonly value: string
  readonly isStored: boolean
  readonly isWanted: boolean
  readonly onChange: (value: string) => void
  readonly onRemove: () => void
}

function ValueRow({ server, field, name, value, isStored, isWanted, onChange, onRemove }: RowProps) {
  const revealed = useRevealed(() => reveal(server, field, name))
  const input = useFocus(isWanted)
  const shown = isStored ? (revealed.value ?? value) : value
  return (
    <div className={css.value}>
      <span className="mono cut" title={name}>
        {name}
      </span>
      <SuggestSecrets value={shown} onChange={onChange}>
        <TextInput
          ref={input}
          className={css.mono ?? ''}
          aria-label={t('valueOf', { name })}
          value={shown}
          autoComplete="off"
          onFocus={({ currentTarget }) => currentTarget.select()}
          onChange={({ currentTarget }) => onChange(currentTarget.value)}
        />
      </SuggestSecrets>
      {isStored ? (
        <IconAct
          icon="eye"
          label={revealed.value === undefined ? t('reveal', { name }) : t('hide', { name })}
          changes
          onClick={revealed.value === undefined ? revealed.show : revealed.hide}
        />
      ) : (
        <span />
      )}
      <IconAct icon="close" label={t('removeValue', { name })} changes onClick={onRemove} />
    </div>
  )
}

interface NewProps {
  readonly name: string
  readonly isWanted: boolean
  readonly onAdd: (name: string, value: string) => void
}

/** With a name that is asked for, only the value is missing: it becomes part of the draft while it is typed. */
function NewValue({ name: given, isWanted, onAdd }: NewProps) {
  const [name, setName] = useState(given)
  const [value, setValue] = useState('')
  const first = useFocus(isWanted && given === '')
  const second = useFocus(isWanted && given !== '')
  const add = () => {
    if (name.trim() === '') return
    onAdd(name.trim(), value)
    setName('')
    setValue('')
  }
  return (
    <div className={css.value}>
      <TextInput
        ref={first}
        className={css.mono ?? ''}
        aria-label={t('newName')}
        placeholder={t('newName')}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
      <SuggestSecrets value={value} onChange={setValue}>
        <TextInput
          ref={second}
          className={css.mono ?? ''}
          aria-label={given === '' ? t('newValue') : t('valueOf', { name: given })}
          placeholder={t('newValue')}
          value={value}
          autoComplete="off"
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
          onBlur={() => value !== '' && add()}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && value !== '' && !isSuggesting(value)) {
              event.preventDefault()
              add()
            }
          }}
        />
      </SuggestSecrets>
      <span className={css.add}>
        <Act size="sm" changes onClick={add}>
          {t('addValue')}
        </Act>
      </span>
    </div>
  )
}

function useFocus(isWanted: boolean) {
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (isWanted) input.current?.focus()
  }, [isWanted])
  return input
}
