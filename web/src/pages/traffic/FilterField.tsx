import { type KeyboardEvent, useState } from 'react'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import css from './FilterField.module.css'
import { termsOf } from './filter.ts'
import { t } from './messages.ts'

interface Props {
  readonly value: string
  readonly onChange: (value: string) => void
}

/** The terms of the filter as chips, and a field for the next one. Enter adds it. */
export function FilterField({ value, onChange }: Props) {
  const [draft, setDraft] = useState('')
  const terms = termsOf(value)
  const set = (next: readonly string[]) => onChange(next.join(' '))
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Enter' && draft.trim() !== '') {
      set([...terms, ...termsOf(draft)])
      setDraft('')
    }
    if (event.key === 'Backspace' && draft === '') set(terms.slice(0, -1))
    if (event.key === 'Escape') event.currentTarget instanceof HTMLElement && event.currentTarget.blur()
  }
  return (
    <div className={css.field}>
      <Icon name="search" />
      {terms.map((term, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the same term may be there twice
        <span key={`${term}-${index}`} className={css.chip}>
          {term}
          <button
            type="button"
            aria-label={t('removeTerm', { term })}
            onClick={() => set(terms.filter((_, each) => each !== index))}
          >
            <Icon name="close" size={12} />
          </button>
        </span>
      ))}
      <input
        data-filter
        aria-label={t('filter')}
        placeholder={terms.length < 3 ? t('filterExample') : ''}
        value={draft}
        autoComplete="off"
        spellCheck={false}
        onChange={({ currentTarget }) => setDraft(currentTarget.value)}
        onKeyDown={onKeyDown}
      />
      <span className="wide-only">
        <Keys of="/" />
      </span>
    </div>
  )
}
