import { PasswordInput } from '@mantine/core'
import type { UnderstoodItem } from '../../../data/server/add-server.ts'
import css from './Add.module.css'
import { t } from './messages.ts'

interface Props {
  readonly placeholders: UnderstoodItem['placeholders']
  readonly values: Readonly<Record<string, string>>
  readonly onChange: (values: Readonly<Record<string, string>>) => void
}

/** What the snippet leaves open: a field for each. */
export function Placeholders({ placeholders, values, onChange }: Props) {
  return (
    <section className={css.placeholders} aria-label={t('placeholders')}>
      <h3 className="strong">{t('placeholders')}</h3>
      <p className="muted sm">{t('placeholdersText')}</p>
      {placeholders.map(({ text, in: places }) => (
        <PasswordInput
          key={text}
          label={<span className="mono">{text}</span>}
          description={t('placeholderIn', { places: places.join(', ') })}
          autoComplete="off"
          value={values[text] ?? ''}
          onChange={({ currentTarget }) => onChange({ ...values, [text]: currentTarget.value })}
        />
      ))}
    </section>
  )
}

/** Those of all servers of the snippet. The same text is one field. */
export function placeholdersOf(items: readonly UnderstoodItem[]): UnderstoodItem['placeholders'] {
  const found = new Map<string, string[]>()
  for (const { name, placeholders } of items)
    for (const { text, in: places } of placeholders)
      found.set(text, [
        ...(found.get(text) ?? []),
        ...(items.length === 1 ? places : places.map((place) => `${name}: ${place}`)),
      ])
  return [...found].map(([text, places]) => ({ text, in: places }))
}
