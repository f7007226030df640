import { Link } from 'wouter'
import type { EventRow } from '../../data/api.ts'
import { useEvents } from '../../data/events.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { useServers } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { Glyph, type GlyphName, type Tone } from '../../parts/marks/Glyph.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { ErrorState, NeedsPermission } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'
import css from './Recent.module.css'
import { sentenceOf } from './recent-events.tsx'
import { type Told, tidied } from './tidied-events.ts'

const SHOWN = 12

/** What happened last. Details of changes are not public, so it needs the token. */
export function Recent() {
  const { mayChange } = useSession()
  const { data: events, error } = useEvents(SHOWN * 5)
  return (
    <section className={`card ${css.card}`} aria-label={t('recent')}>
      <div className="card-head">
        <h2>{t('recent')}</h2>
        <Link href="/logs" className="right sm">
          {t('allEvents')}
        </Link>
      </div>
      {!mayChange && (
        <div className={css.inside}>
          <NeedsPermission />
        </div>
      )}
      {mayChange && error && (
        <div className={css.inside}>
          <ErrorState error={error} />
        </div>
      )}
      {mayChange && !events && !error && <Skeleton rows={6} height={30} />}
      {events?.length === 0 && <p className={`muted ${css.inside}`}>{t('noEvents')}</p>}
      <ul>
        {events &&
          tidied(events)
            .slice(0, SHOWN)
            .map(({ event, times }) => <Item key={event.id} event={event} times={times} />)}
      </ul>
    </section>
  )
}

function Item({ event, times }: Told) {
  const { glyph, tone } = markOf(event)
  const { servers = [] } = useServers()
  const short = useShort()
  const name = servers.find(({ id }) => id === event.server_id)?.name ?? event.server_id
  return (
    <li className={css.item}>
      <span className="muted sm">
        <Time at={event.ts} />
      </span>
      <span className={tone}>
        <Glyph name={glyph} />
      </span>
      <span className={css.text} title={event.text}>
        {sentenceOf(event, name, short)}
        {times > 1 && <span className="muted">{isCrash(event) ? t('again') : ` ×${times}`}</span>}
      </span>
    </li>
  )
}

/** How often in a row is said where the server is; this list may begin later. */
const isCrash = ({ kind, data }: EventRow): boolean => kind === 'server_status' && data.status === 'backoff'

interface Mark {
  readonly glyph: GlyphName
  readonly tone: Tone
}
const STATUS: Readonly<Record<string, Mark>> = {
  running: { glyph: 'run', tone: 'ok' },
  connected: { glyph: 'run', tone: 'ok' },
  starting: { glyph: 'work', tone: 'info' },
  stopping: { glyph: 'work', tone: 'info' },
  backoff: { glyph: 'err', tone: 'err' },
  failed: { glyph: 'err', tone: 'err' },
  idle: { glyph: 'idle', tone: 'idle' },
  stopped: { glyph: 'stop', tone: 'idle' },
}

function markOf({ kind, data }: EventRow): Mark {
  if (kind === 'server_status') return STATUS[String(data.status)] ?? { glyph: 'look', tone: 'warn' }
  if (kind === 'audit') return { glyph: 'tick', tone: 'idle' }
  const isOver = data.resolved_at !== null && data.resolved_at !== undefined
  if (isOver) return { glyph: 'tick', tone: 'ok' }
  return data.level === 'error' ? { glyph: 'err', tone: 'err' } : { glyph: 'look', tone: 'warn' }
}
