import { useAgents } from '../../data/agents.ts'
import { useServers } from '../../data/servers.ts'
import type { TrafficCall } from '../../data/traffic.ts'
import { bytes, duration, millis, seconds } from '../../format/format.ts'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import { useNow } from '../../parts/marks/Time.tsx'
import { SHORT } from './filter.ts'
import { type Group, startOf } from './groups.ts'
import { t } from './messages.ts'
import css from './rows.module.css'

export function useAgentName(agent_type: string | null): string {
  const { data: agents = [] } = useAgents()
  if (agent_type === null) return t('api')
  return agents.find((agent) => agent.agent_type === agent_type)?.name ?? agent_type
}

export const shortSession = (id: string): string => id.slice(0, SHORT)

export const isFailed = ({ status }: TrafficCall): boolean => status === 'error' || status === 'timeout'

interface GroupProps {
  readonly group: Group
  /** The axis has four parts of this length. */
  readonly stepMs: number
  readonly isOpen: boolean
  readonly tabIndex: number
  readonly onToggle: () => void
}

/** The head of a group: the agent, its session, and the axis of its calls. */
export function GroupRow({ group, stepMs, isOpen, tabIndex, onToggle }: GroupProps) {
  const name = useAgentName(group.agent_type)
  return (
    <button
      type="button"
      className={`${css.row} ${css.group}`}
      aria-expanded={isOpen}
      tabIndex={tabIndex}
      onClick={onToggle}
    >
      <span className={css.who}>
        <Icon name={isOpen ? 'down' : 'right'} />
        <Monogram name={name} />
        <b className="strong cut">{name}</b>
        <span className={`muted sm cut ${css.about}`}>
          {group.session_id !== null && `${t('session', { id: shortSession(group.session_id) })} · `}
          {t('groupCalls', { count: group.calls.length })} · {duration(group.spanMs)}
        </span>
      </span>
      <span className={`${css.axis} muted xs`} aria-hidden="true">
        {[0, 1, 2, 3].map((part) => (
          <span key={part}>{part === 0 ? '0' : duration(part * stepMs)}</span>
        ))}
      </span>
      <span className={`muted sm num ${css.at}`}>{seconds(group.from)}</span>
    </button>
  )
}

interface CallProps {
  readonly call: TrafficCall
  readonly group: Group
  readonly stepMs: number
  readonly isSelected: boolean
  readonly tabIndex: number
  readonly onSelect: () => void
}

export function CallRow({ call, group, stepMs, isSelected, tabIndex, onSelect }: CallProps) {
  const { servers = [] } = useServers()
  const server = servers.find(({ id }) => id === call.server_id)?.name ?? call.server_id ?? t('noServer')
  return (
    <button
      type="button"
      className={css.row}
      data-selected={isSelected || undefined}
      data-call={call.id}
      aria-current={isSelected || undefined}
      tabIndex={tabIndex}
      onClick={onSelect}
    >
      <span className={`mono muted ${css.time}`}>{millis(call.started_at)}</span>
      <span className={`cut ${css.server}`}>{server}</span>
      <span className="mono cut">{call.tool}</span>
      <Bars call={call} from={group.from} stepMs={stepMs} />
      <span className="num">
        {call.status === 'running' ? <Elapsed call={call} /> : duration(call.duration_ms)}
      </span>
      <span className="num cut">
        <Result call={call} />
      </span>
    </button>
  )
}

interface BarsProps {
  readonly call: TrafficCall
  /** Where the axis begins. */
  readonly from: number
  readonly stepMs: number
}

/** Grey: in Toolroom. Amber: the start of the server. Blue: in the server, or red if the call failed. */
function Bars({ call, from, stepMs }: BarsProps) {
  const whole = stepMs * 4
  const percent = (ms: number) => `${Math.min(100, (ms / whole) * 100)}%`
  const at = startOf(call) - from
  if (call.status === 'running')
    return (
      <span className={css.bars} aria-hidden="true">
        <i className={css.working} style={{ left: percent(at), right: 0 }} />
      </span>
    )
  if (call.duration_ms === null) return <span className={css.bars} />
  const parts = [
    { ms: call.queue_ms, look: css.queue },
    { ms: call.start_ms, look: css.start },
    { ms: call.server_ms, look: isFailed(call) ? css.failed : css.busy },
  ]
  const last = call.server_ms > 0 ? 2 : 0
  const looks = isFailed(call) && last === 0 ? parts.map(({ ms }) => ({ ms, look: css.failed })) : parts
  let begin = at
  return (
    <span className={css.bars} aria-hidden="true">
      {looks.map(({ ms, look }, index) => {
        const left = percent(begin)
        begin += ms
        const isShown = index === last || ms / whole > 0.004
        // biome-ignore lint/suspicious/noArrayIndexKey: always the same three
        return isShown && <i key={index} className={look} style={{ left, width: percent(ms) }} />
      })}
    </span>
  )
}

function Elapsed({ call }: { readonly call: TrafficCall }) {
  const now = useNow(500)
  return <span className="info">{duration(Math.max(0, now - startOf(call)))}…</span>
}

function Result({ call }: { readonly call: TrafficCall }) {
  if (call.status === 'running')
    return (
      <span className={`info ${css.state}`}>
        <Glyph name="work" />
        {t('running')}
      </span>
    )
  if (call.status === 'ok')
    return (
      <>
        <span className="muted">{bytes(call.response_bytes)}</span> <span className="ok">{t('ok')}</span>
      </>
    )
  return <span className={isFailed(call) ? 'err strong' : 'muted'}>{wordsOf(call)}</span>
}

/** `server_not_running` becomes `server not running`. */
export const wordsOf = ({ error_code, status }: TrafficCall): string =>
  (error_code ?? status).replace(/^server_(?=start)/, '').replaceAll('_', ' ')
