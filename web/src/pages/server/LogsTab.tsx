import { useCallback, useState } from 'react'
import { Link } from 'wouter'
import type { LogLine } from '../../data/api.ts'
import { useLogFeed, useLogs } from '../../data/logs.ts'
import type { Server } from '../../data/servers.ts'
import { millis } from '../../format/format.ts'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'
import css from './Server.module.css'

const SHOWN = 200
type Line = Omit<LogLine, 'id'> & { readonly id: number | null }

/** Its last lines, the newest first. The page Logs searches all of them. */
export function LogsTab({ server }: { readonly server: Server }) {
  const { data: stored, error } = useLogs({ server_id: [server.id] }, SHOWN)
  const [fresh, setFresh] = useState<readonly Line[]>([])
  const onLine = useCallback(
    (line: Line) => {
      if (line.server_id === server.id) setFresh((before) => [line, ...before].slice(0, SHOWN))
    },
    [server.id],
  )
  useLogFeed({ server_ids: [server.id] }, onLine)
  if (error) return <ErrorState error={error} />
  const known = new Set(stored?.map(({ id }) => id))
  const lines = [...fresh.filter(({ id }) => id === null || !known.has(id)), ...(stored ?? [])].slice(
    0,
    SHOWN,
  )
  return (
    <section className="card" aria-label={t('logs')}>
      <div className="card-head">
        <h2>{t('logs')}</h2>
        <Link href={`/logs?servers=${server.id}`} className="right sm">
          {t('openLogs')}
        </Link>
      </div>
      {!stored && <Skeleton rows={8} height={21} />}
      {stored && lines.length === 0 && <EmptyState title={t('noLines')} text={t('noLinesText')} />}
      {lines.length > 0 && (
        <div className={css.lines} role="log" aria-label={t('logs')}>
          {lines.map((line, index) => (
            <LineRow key={line.id ?? `fresh-${lines.length - index}`} line={line} />
          ))}
        </div>
      )}
    </section>
  )
}

const TONES: Readonly<Record<string, string>> = { warn: 'warn', error: 'err', fatal: 'err' }

function LineRow({ line: { ts, level, message, repeat } }: { readonly line: Line }) {
  return (
    <div className={`${css.line} ${css[level] ?? ''}`}>
      <time className="muted" dateTime={ts}>
        {millis(ts)}
      </time>
      <span className={`${css.level} ${TONES[level] ?? 'muted'}`}>{level}</span>
      <span>
        {message}
        {repeat > 1 && <span className="muted"> {t('times', { count: repeat })}</span>}
      </span>
    </div>
  )
}
