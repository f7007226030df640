import type { ReactNode } from 'react'
import { Link, useLocation } from 'wouter'
import type { Schemas } from '../../data/api.ts'
import { useCall } from '../../data/calls.ts'
import { useServers } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { useSettings } from '../../data/settings.ts'
import type { TrafficCall } from '../../data/traffic.ts'
import { bytes, duration, millis } from '../../format/format.ts'
import { TimeSplit } from '../../parts/charts/TimeSplit.tsx'
import { JsonTree } from '../../parts/content/JsonTree.tsx'
import { Act, IconAct } from '../../parts/controls/Act.tsx'
import { CopyAs } from '../../parts/controls/CopyAs.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { ErrorState, NeedsPermission } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import css from './Detail.module.css'
import { startOf } from './groups.ts'
import { t } from './messages.ts'
import { isFailed, shortSession, useAgentName, wordsOf } from './rows.tsx'

type CallDetail = Schemas['CallDetail']
/** The log is opened with this much before and after the call. */
const AROUND_MS = 5000

interface Props {
  readonly id: number
  /** The call as the list has it; undefined if it is not there. */
  readonly listed: TrafficCall | undefined
  readonly onClose: () => void
}

/** One call: where its time went, what went wrong, and with the token its arguments and its result. */
export function Detail({ id, listed, onClose }: Props) {
  const { mayChange } = useSession()
  const isRunning = listed?.status === 'running'
  const { data, error } = useCall(mayChange && !isRunning ? id : undefined)
  const { servers = [] } = useServers()
  const call: TrafficCall | undefined = data ?? listed
  const server = servers.find((each) => each.id === call?.server_id)
  const failed = call !== undefined && isFailed(call)
  return (
    <aside className={css.detail} aria-label={t('detail')}>
      <header className={css.head}>
        {call && (
          <span className={failed ? 'err' : isRunning ? 'info' : 'ok'}>
            <Glyph name={failed ? 'err' : isRunning ? 'work' : 'run'} />
          </span>
        )}
        <b className={`mono cut grow ${css.name}`}>
          {call && `${server?.name ?? call.server_id ?? t('noServer')} ${call.tool}`}
        </b>
        <span className="wide-only">
          <Keys of="j k" />
        </span>
        <IconAct icon="close" label={t('close')} onClick={onClose} />
      </header>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it can be focused */}
      <section className={css.body} aria-label={t('detail')} tabIndex={0}>
        {call && <Facts call={call} error_message={data?.error_message} />}
        {!call && !error && mayChange && <Skeleton rows={5} />}
        {!call && !mayChange && <p className="muted">{t('gone')}</p>}
        {!mayChange && <NeedsPermission />}
        {error && <ErrorState error={error} />}
        {data && <Payload call={data} />}
        {call && <Origin call={call} />}
      </section>
      {call && (
        <Foot call={call} detail={data} route={server?.type === 'http' ? 'http-servers' : 'servers'} />
      )}
    </aside>
  )
}

interface FactsProps {
  readonly call: TrafficCall
  readonly error_message: string | null | undefined
}
function Facts({ call, error_message }: FactsProps) {
  const failed = isFailed(call)
  return (
    <>
      <div>
        <div className={css.figure}>
          <span className={css.duration}>
            {call.status === 'running' ? t('running') : duration(call.duration_ms)}
          </span>
          {call.status !== 'ok' && call.status !== 'running' && (
            <span className={failed ? 'err strong' : 'muted'}>{call.status}</span>
          )}
          <span className="muted sm right">{millis(call.started_at)}</span>
        </div>
        {call.status !== 'running' && call.duration_ms !== null && <TimeSplit {...call} failed={failed} />}
      </div>
      {call.error_code !== null && (
        <CauseStrip
          tone={failed ? 'err' : 'idle'}
          sentence={sentenceOf(call)}
          evidence={error_message ?? call.error_message}
        />
      )}
    </>
  )
}

function sentenceOf(call: TrafficCall): string {
  if (call.error_code === 'tool_error') return t('answeredError')
  if (call.status === 'timeout') return t('timedOut')
  if (call.status === 'cancelled') return t('cancelledText')
  return t('failed', { code: wordsOf(call) })
}

function Payload({ call }: { readonly call: CallDetail }) {
  if (call.payload_state === 'not_kept') return <p className="muted">{t('notKept')}</p>
  return (
    <>
      {call.payload_state === 'cut' && <p className="muted">{t('cut')}</p>}
      <Body title={t('arguments')} size={call.request_bytes} value={call.arguments} />
      <Body title={t('resultBody')} size={call.response_bytes} value={call.result} />
    </>
  )
}

interface BodyProps {
  readonly title: string
  readonly size: number
  readonly value: unknown
}
function Body({ title, size, value }: BodyProps) {
  return (
    <section aria-label={title}>
      <h2 className={css.label}>
        {title}
        <span className="right">{bytes(size)}</span>
      </h2>
      {value === null ? <p className="muted">{t('none')}</p> : <JsonTree value={value} />}
    </section>
  )
}

function Origin({ call }: { readonly call: TrafficCall }) {
  const name = useAgentName(call.agent_type)
  const { session_id: session } = call
  return (
    <dl className={css.facts}>
      <Fact name={t('agent')}>
        <Monogram name={name} />
        {session === null ? name : t('inSession', { agent: name, id: shortSession(session) })}
      </Fact>
      {call.request_id && (
        <Fact name={t('request')}>
          <span className="mono cut">{call.request_id}</span>
        </Fact>
      )}
    </dl>
  )
}

const Fact = ({ name, children }: { readonly name: string; readonly children: ReactNode }) => (
  <>
    <dt className="muted">{name}</dt>
    <dd className="row">{children}</dd>
  </>
)

interface FootProps {
  readonly call: TrafficCall
  readonly detail: CallDetail | undefined
  readonly route: 'servers' | 'http-servers'
}
function Foot({ call, detail, route }: FootProps) {
  const [, navigate] = useLocation()
  const { server_id: server, tool } = call
  const query = new URLSearchParams({ server: server ?? '', tool, replay: String(call.id) })
  const logs = new URLSearchParams({
    ...(server !== null && { servers: server }),
    from: String(startOf(call) - AROUND_MS),
    to: String(Math.ceil(startOf(call) + (call.duration_ms ?? 0)) + AROUND_MS),
  })
  const args = detail?.payload_state === 'kept' ? JSON.stringify(detail.arguments ?? {}) : '{}'
  return (
    <footer className={css.foot}>
      <div className={css.actions}>
        <Act
          look="main"
          icon="play"
          changes
          blocked={server === null ? t('reached') : undefined}
          onClick={() => navigate(`/playground?${query}`)}
        >
          {t('replay')}
        </Act>
        <Act icon="logs" onClick={() => navigate(`/logs?${logs}`)}>
          {t('logsHere')}
        </Act>
        {server !== null && <CopyAs route={route} server={server} tool={tool} args={args} />}
      </div>
      <Kept />
    </footer>
  )
}

/** Which payloads are kept. */
function Kept() {
  const { data } = useSettings()
  const mode = data?.items.find(({ key }) => key === 'call_payloads')?.value
  if (mode === undefined) return null
  const said = { off: t('payloadsOff'), disk: t('payloadsDisk') }[String(mode)] ?? t('payloadsMemory')
  return (
    <p className="xs muted">
      {said}{' '}
      <Link href="/settings" className={css.change}>
        {t('change')}
      </Link>
    </p>
  )
}
