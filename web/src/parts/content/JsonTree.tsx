import { useState } from 'react'
import { texts } from '../../i18n/texts.ts'
import css from './JsonTree.module.css'

const t = texts('json', {
  keys: { one: '{count} key', other: '{count} keys' },
  items: { one: '{count} item', other: '{count} items' },
  more: { one: 'show {count} more', other: 'show {count} more' },
  rest: { one: '{count} more character', other: '{count} more characters' },
})

const OPEN_DEPTH = 2
const FIRST_ITEMS = 100
const FIRST_CHARACTERS = 2000

interface Props {
  readonly value: unknown
  readonly depth?: number
  readonly name?: string | undefined
  readonly isLast?: boolean
}

/** JSON that folds. The first levels are open; long lists and texts show their beginning. */
export function JsonTree({ value }: { readonly value: unknown }) {
  return (
    <div className={css.tree}>
      <Node value={value} />
    </div>
  )
}

function Node({ value, depth = 0, name, isLast = true }: Props) {
  const comma = isLast ? '' : ','
  const label = name !== undefined && <span className={css.key}>{JSON.stringify(name)}: </span>
  if (typeof value !== 'object' || value === null)
    return (
      <div>
        {label}
        <Leaf value={value} />
        {comma}
      </div>
    )
  return <Branch value={value} depth={depth} label={label} comma={comma} />
}

interface BranchProps {
  readonly value: object
  readonly depth: number
  readonly label: React.ReactNode
  readonly comma: string
}

function Branch({ value, depth, label, comma }: BranchProps) {
  const [isOpen, setOpen] = useState(depth < OPEN_DEPTH)
  const [shown, setShown] = useState(FIRST_ITEMS)
  const isList = Array.isArray(value)
  const entries = Object.entries(value)
  const [start, end] = isList ? '[]' : '{}'
  if (entries.length === 0)
    return (
      <div>
        {label}
        {start}
        {end}
        {comma}
      </div>
    )
  const size = isList ? t('items', { count: entries.length }) : t('keys', { count: entries.length })
  return (
    <div>
      {label}
      <button type="button" className={css.fold} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {isOpen ? start : `${start} ${size} ${end}${comma}`}
      </button>
      {isOpen && (
        <>
          <div className={css.inside}>
            {entries.slice(0, shown).map(([key, each], index) => (
              <Node
                key={key}
                value={each}
                depth={depth + 1}
                name={isList ? undefined : key}
                isLast={index === entries.length - 1}
              />
            ))}
            {entries.length > shown && (
              <button type="button" className={css.more} onClick={() => setShown(shown + FIRST_ITEMS * 10)}>
                {t('more', { count: entries.length - shown })}
              </button>
            )}
          </div>
          {end}
          {comma}
        </>
      )}
    </div>
  )
}

function Leaf({ value }: { readonly value: unknown }) {
  const [isWhole, setWhole] = useState(false)
  if (typeof value !== 'string') return <span className={css.number}>{String(value)}</span>
  const rest = isWhole ? 0 : value.length - FIRST_CHARACTERS
  if (rest <= 0) return <span className={css.text}>{JSON.stringify(value)}</span>
  return (
    <>
      <span className={css.text}>{JSON.stringify(value.slice(0, FIRST_CHARACTERS))}</span>{' '}
      <button type="button" className={css.more} onClick={() => setWhole(true)}>
        {t('rest', { count: rest })}
      </button>
    </>
  )
}
