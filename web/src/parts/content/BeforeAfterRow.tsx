import type { ReactNode } from 'react'
import { texts } from '../../i18n/texts.ts'
import { Glyph } from '../marks/Glyph.tsx'
import { Icon } from '../marks/icons.tsx'
import css from './BeforeAfter.module.css'

const t = texts('before-after-row', {
  what: 'What',
  before: 'Before',
  becomes: 'becomes',
  after: 'After',
  note: 'Note',
})

interface TableProps {
  readonly label: string
  readonly children: ReactNode
}

/** The heads above such lines. */
export const BeforeAfterTable = ({ label, children }: TableProps) => (
  <table className={css.table} aria-label={label}>
    <thead>
      <tr className={`${css.row} ${css.heads}`}>
        <th>
          <span className={css.said}>{t('what')}</span>
        </th>
        <th>{t('before')}</th>
        <th>
          <span className={css.said}>{t('becomes')}</span>
        </th>
        <th>{t('after')}</th>
        <th>
          <span className={css.said}>{t('note')}</span>
        </th>
      </tr>
    </thead>
    <tbody>{children}</tbody>
  </table>
)

interface Props {
  /** Of the first row of its kind. */
  readonly label?: string | undefined
  readonly before: ReactNode
  readonly after: ReactNode
  readonly note?: ReactNode
}

/** One line of what an agent can use before and after a change. */
export const BeforeAfterRow = ({ label, before, after, note }: Props) => (
  <tr className={`${css.row} ${label === undefined ? css.sub : css.first}`}>
    <th scope="row">{label}</th>
    <td>{before}</td>
    <td className={css.arrow}>
      <Icon name="arrow" size={14} />
    </td>
    <td>{after}</td>
    <td className={css.note}>{note}</td>
  </tr>
)

/** Good facts whisper: only the tick is coloured. What an agent gains or loses is coloured whole. */
export const ChangeNote = ({ tone, text }: { readonly tone: 'ok' | 'warn'; readonly text: string }) => (
  <span className={tone === 'ok' ? css.good : `warn ${css.more}`}>
    <span className={tone}>
      <Glyph name={tone === 'ok' ? 'tick' : 'look'} />
    </span>
    {text}
  </span>
)
