import type { ReactNode } from 'react'
import { Icon } from '../marks/icons.tsx'
import css from './Table.module.css'

/** The pieces of a table: no zebra, no vertical lines, numbers at the right, `–` for none. */

interface TableProps {
  readonly label: string
  /** Where there is less room, the table scrolls sideways. */
  readonly least?: number
  readonly children: ReactNode
}

export function Table({ label, least, children }: TableProps) {
  const table = (
    <table className={css.table} aria-label={label} style={{ minWidth: least }}>
      {children}
    </table>
  )
  if (least === undefined) return table
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it can be focused
    <section className={css.scroll} aria-label={label} tabIndex={0}>
      {table}
    </section>
  )
}

interface HeadProps {
  readonly children?: ReactNode
  readonly number?: boolean
  readonly width?: number | string
  /** Makes the head a button that sorts. */
  readonly sort?: { readonly state: 'asc' | 'desc' | 'none'; readonly onSort: () => void }
  /** Read instead of an empty head. */
  readonly label?: string
}

export function Head({ children, number = false, width, sort, label }: HeadProps) {
  const aria = { asc: 'ascending', desc: 'descending', none: 'none' } as const
  return (
    <th
      scope="col"
      className={number ? 'num' : undefined}
      style={width === undefined ? undefined : { width }}
      aria-sort={sort && aria[sort.state]}
      aria-label={label}
    >
      {sort ? (
        <button type="button" className={css.sort} onClick={sort.onSort}>
          {children}
          <Icon name="sort" size={12} />
        </button>
      ) : (
        children
      )}
    </th>
  )
}

interface RowProps {
  readonly children: ReactNode
  readonly selected?: boolean
}
export function Row({ children, selected = false }: RowProps) {
  return (
    <tr className={css.row} data-selected={selected || undefined}>
      {children}
    </tr>
  )
}

interface CellProps {
  readonly children?: ReactNode
  readonly number?: boolean
  readonly className?: string
  readonly span?: number
}
export function Cell({ children, number = false, className = '', span }: CellProps) {
  return (
    <td className={`${number ? 'num' : ''} ${className}`} colSpan={span}>
      {children ?? '–'}
    </td>
  )
}
