import type { ReactNode } from 'react'
import { Glyph } from '../marks/Glyph.tsx'
import { Icon } from '../marks/icons.tsx'
import css from './BeforeAfter.module.css'

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
