import { type AgentFile, useAgentFile } from '../../data/agent-files.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { useSession } from '../../data/session.ts'
import { texts } from '../../i18n/texts.ts'
import { ErrorState, NeedsPermission } from '../states/ErrorState.tsx'
import { Skeleton } from '../states/Skeleton.tsx'
import css from './FileLines.module.css'

const t = texts('file-lines', {
  lines: 'Lines of {path}',
  masked: 'Texts that may be a secret are masked.',
  part: '{shown} of {total} lines.',
  none: 'The file has no text that can be shown.',
})

interface Props {
  readonly agentType: string
  readonly scope: string
  /** Only this line with its neighbours. */
  readonly around?: number
}
type Line = AgentFile['lines'][number]

const NEIGHBOURS = 2
const MOST = 500

/** The file of an agent as it is, with a mark where it cannot be parsed. */
export function FileLines({ agentType, scope, around }: Props) {
  const { mayChange } = useSession()
  const short = useShort()
  const first_line = Math.max(1, (around ?? 1) - NEIGHBOURS)
  const limit = around === undefined ? MOST : around - first_line + 1 + NEIGHBOURS
  const { data: file, error } = useAgentFile(agentType, { scope, first_line, limit })
  if (!mayChange) return <NeedsPermission />
  if (error) return <ErrorState error={error} />
  if (!file) return <Skeleton rows={3} height={20} />
  const isPart = around === undefined && file.lines.length < file.total_lines
  return (
    <div className={css.file}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: a keyboard has to scroll it */}
      <ol className={css.lines} tabIndex={0} aria-label={t('lines', { path: short(file.path) })}>
        {file.lines.map((line) => (
          <li key={line.line} value={line.line} className={line.fault_column === null ? '' : css.fault}>
            <span className={css.number} aria-hidden="true">
              {line.line}
            </span>
            <Text {...line} />
          </li>
        ))}
      </ol>
      <p className={`muted xs ${css.note}`}>
        {file.lines.length === 0 && `${file.problem ?? t('none')} `}
        {isPart && `${t('part', { shown: file.lines.length, total: file.total_lines })} `}
        {t('masked')}
      </p>
    </div>
  )
}

function Text({ text, cut, fault_column: column }: Line) {
  const end = cut ? '…' : ''
  if (column === null) return <code>{`${text}${end}`}</code>
  const at = column - 1
  return (
    <code>
      {text.slice(0, at)}
      <mark>{text[at] ?? ' '}</mark>
      {`${text.slice(at + 1)}${end}`}
    </code>
  )
}
