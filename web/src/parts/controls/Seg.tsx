import { useId } from 'react'
import css from './Seg.module.css'

interface Props<T extends string> {
  readonly label: string
  readonly value: T
  readonly options: readonly { readonly value: T; readonly label: string; readonly count?: number }[]
  readonly onChange: (value: T) => void
}

/** One of a few: a group of radio buttons in one frame. Arrow keys move. */
export function Seg<T extends string>({ label, value, options, onChange }: Props<T>) {
  const name = useId()
  return (
    <fieldset className={css.seg} aria-label={label}>
      {options.map((option) => (
        <label key={option.value} className={css.option}>
          <input
            type="radio"
            name={name}
            value={option.value}
            checked={option.value === value}
            onChange={() => onChange(option.value)}
          />
          <span>
            {option.label}
            {option.count !== undefined && ` ${option.count}`}
          </span>
        </label>
      ))}
    </fieldset>
  )
}
