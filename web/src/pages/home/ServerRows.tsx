import { useMemo, useState } from 'react'
import { Link } from 'wouter'
import { type ServerSeries, STEP, useServerSeries, type Window } from '../../data/metrics.ts'
import { useNotices } from '../../data/notices.ts'
import type { Server } from '../../data/servers.ts'
import { bytes, clock, duration, percent, seconds, share } from '../../format/format.ts'
import { type Beat, Heartbeat } from '../../parts/charts/Heartbeat.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { PlaceMark } from '../../parts/isolation/PlaceMark.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { isBroken, needsEyes, shownStatus } from '../../parts/marks/status.ts'
import { t } from './messages.ts'
import css from './ServerRows.module.css'

interface Props {
  readonly servers: readonly Server[]
  readonly window: Window
}

/** More than this is for the Servers page; a button shows them here too. */
const FIRST = 25

/** Every server with its heartbeat: what broke is on top, then what runs, then what sleeps. */
export function ServerRows({ servers, window }: Props) {
  const [isWhole, setWhole] = useState(false)
  const { data: notices } = useNotices()
  const sorted = useMemo(() => servers.toSorted((a, b) => rankOf(a) - rankOf(b)), [servers])
  const changed = new Set(
    notices?.filter(({ kind }) => kind.startsWith('tools_')).map((each) => each.server_id),
  )
  const shown = isWhole ? sorted : sorted.slice(0, FIRST)
  const series = useServerSeries(
    window,
    shown.map(({ id }) => id),
  )
  const first = series.values().next().value?.points[0]?.ts
  return (
    <section className="card" aria-label={t('servers')}>
      <table className={css.table}>
        <thead>
          <tr className={`${css.row} ${css.head}`}>
            <th scope="col" className={css.title}>
              {t('servers')}
            </th>
            <th scope="col" className={css.status} aria-label={t('servers')} />
            <th scope="col" className={`num ${css.tools}`}>
              {t('tools')}
            </th>
            <th scope="col" className={css.beats}>
              <span>{t(`callsPer${window}`)}</span>
              {first && <span>{t('since', { from: clock(first) })}</span>}
            </th>
            <th scope="col" className="num">
              {t('p95')}
            </th>
            <th scope="col" className={`num ${css.err}`}>
              {t('err')}
            </th>
            <th scope="col" className={`num ${css.memory}`}>
              {t('memory')}
            </th>
            <th scope="col" className={`num ${css.cpu}`}>
              {t('cpu')}
            </th>
          </tr>
        </thead>
        <tbody>
          {shown.map((server) => (
            <ServerRow
              key={server.id}
              server={server}
              series={series.get(server.id)}
              window={window}
              hasChangedTools={changed.has(server.id)}
            />
          ))}
        </tbody>
      </table>
      {sorted.length > shown.length && (
        <div className={css.all}>
          <Act size="xs" look="quiet" onClick={() => setWhole(true)}>
            {t('showAll', { count: sorted.length })}
          </Act>
        </div>
      )}
    </section>
  )
}

interface RowProps {
  readonly server: Server
  readonly series: ServerSeries | undefined
  readonly window: Window
  readonly hasChangedTools: boolean
}

function ServerRow({ server, series, window, hasChangedTools }: RowProps) {
  const { glyph, word, tone } = shownStatus(server)
  const beats = useMemo(() => beatsOf(series, STEP[window].s), [series, window])
  const calls = series?.calls
  const resources = server.type === 'stdio' ? server.resources : null
  const isBad = calls !== undefined && calls.error_rate >= 0.05
  return (
    <tr className={css.row}>
      <th scope="row" className={css.name}>
        <span className={tone}>
          <Glyph name={glyph} />
        </span>
        <Link href={`/servers/${server.id}`} className="cut">
          {server.name}
        </Link>
        {server.type === 'stdio' && <PlaceMark confinement={server} />}
      </th>
      <td className={`${css.status} ${needsEyes(server) ? `${tone} strong` : 'muted'}`}>
        {word}
        {hasChangedTools && (
          <span className="warn" title={t('toolsChanged')} role="img" aria-label={t('toolsChanged')}>
            <Glyph name="look" />
          </span>
        )}
      </td>
      <td className={`num muted ${css.tools}`}>{server.tool_count ?? '–'}</td>
      <td className={css.beats}>
        <Heartbeat beats={beats} name={server.name} formatTime={window === '5m' ? seconds : clock} />
      </td>
      <td className="num">{duration(series?.latency_ms?.p95)}</td>
      <td className={`num ${css.err} ${isBad ? 'err strong' : ''}`}>
        {share(calls && calls.total > 0 ? calls.error_rate : null)}
      </td>
      <td className={`num ${css.memory}`}>
        {server.type === 'http' ? <span className="muted">{t('remote')}</span> : bytes(resources?.rss_bytes)}
      </td>
      <td className={`num ${css.cpu}`}>{percent(resources?.cpu_pct)}</td>
    </tr>
  )
}

function rankOf(server: Server): number {
  const { tone } = shownStatus(server)
  if (isBroken(server)) return tone === 'err' ? 0 : 1
  return { ok: 2, warn: 2, info: 2, err: 0, idle: 3 }[tone]
}

function beatsOf(series: ServerSeries | undefined, stepS: number): Beat[] {
  return (series?.points ?? []).flatMap((point) =>
    'down_s' in point
      ? [{ ts: point.ts, calls: point.calls, errors: point.errors, down: point.down_s >= stepS / 2 }]
      : [],
  )
}
