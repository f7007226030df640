import type { ReactNode } from 'react'
import { Link } from 'wouter'
import { useAgents } from '../../data/agents.ts'
import { useSummary, useTimeseries, type Window } from '../../data/metrics.ts'
import { count, duration, share, tokens } from '../../format/format.ts'
import { Spark } from '../../parts/charts/Spark.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import css from './Figures.module.css'
import { t } from './messages.ts'

const MINUTES: Record<Window, number> = { '5m': 5, '1h': 60, '24h': 1440, '7d': 10_080 }

/** Calls, errors, latencies and context of the chosen time. */
export function Figures({ window }: { readonly window: Window }) {
  const { data: summary, error } = useSummary(window)
  const { data: series } = useTimeseries(window)
  const points = series?.points ?? []
  const { calls, latency_ms } = summary ?? {}
  if (error) return <ErrorState error={error} />
  const failed = calls && calls.error + calls.timeout
  const isEmpty = calls?.total === 0
  const rate = calls ? calls.total / MINUTES[window] : 0
  return (
    <section className={`card ${css.figures}`} aria-label={t('figures')}>
      <Figure
        label={t('calls')}
        value={count(calls?.total)}
        note={calls && t('perMinute', { rate: rate < 10 ? rate.toFixed(1) : Math.round(rate) })}
      >
        {!isEmpty && <Spark kind="bars" color="g-pulse" values={points.map((point) => point.calls)} />}
      </Figure>
      <Figure
        label={t('errors')}
        value={share(calls && (calls.total === 0 ? null : calls.error_rate))}
        note={failed !== undefined && t('errorCalls', { count: failed })}
      >
        {!isEmpty && <Spark kind="bars" color="g-err" values={points.map((point) => point.errors)} />}
      </Figure>
      <Figure label={t('median')} value={duration(latency_ms?.p50)}>
        {!isEmpty && <Spark kind="line" color="g-p50" values={points.map(({ p50 }) => p50)} />}
      </Figure>
      <Figure label={t('p95')} value={duration(latency_ms?.p95)}>
        {!isEmpty && <Spark kind="line" color="g-p95" values={points.map(({ p95 }) => p95)} />}
      </Figure>
      <Context />
    </section>
  )
}

interface FigureProps {
  readonly label: string
  readonly value: string
  readonly note?: ReactNode
  readonly children: ReactNode
}
function Figure({ label, value, note, children }: FigureProps) {
  return (
    <div className={css.figure}>
      <div className={css.label}>{label}</div>
      <div className={css.value}>
        {value}
        {note && <small>{note}</small>}
      </div>
      {children}
    </div>
  )
}

const NAMED = 3
const COLORS = ['var(--tr-g-1)', 'var(--tr-g-2)', 'var(--tr-g-3)', 'var(--tr-g-4)']

/** The agent whose tool list is the longest, and which servers fill it. */
function Context() {
  const { data: agents = [] } = useAgents()
  const largest = agents
    .filter(({ connected_via }) => connected_via === 'gateway')
    .toSorted((a, b) => (b.visible?.tokens ?? 0) - (a.visible?.tokens ?? 0))[0]
  const parts = largest ? partsOf(largest.visible?.by_server ?? []) : []
  return (
    <div className={`${css.figure} ${css.context}`}>
      <div className={`${css.label} row`}>
        <span>{t('context')}</span>
        <Link href="/agents" className="right">
          {t('allAgents')}
        </Link>
      </div>
      {largest?.visible ? (
        <>
          <div className={css.value}>
            {t('about', { tokens: tokens(largest.visible.tokens) })}
            <small>{t('tokensOf', { agent: largest.name })}</small>
          </div>
          <div className={css.stack} aria-hidden="true">
            {parts.map(({ name, tokens: size }, index) => (
              <span key={name} style={{ flexGrow: size, background: COLORS[index] }} />
            ))}
          </div>
          <ul className={css.legend}>
            {parts.map(({ name, tokens: size }, index) => (
              <li key={name}>
                <i style={{ background: COLORS[index] }} aria-hidden="true" />
                {name} <b>{tokens(size)}</b>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p className="muted">{t('noContext')}</p>
      )}
    </div>
  )
}

interface Part {
  readonly name: string
  readonly tokens: number
}
function partsOf(servers: readonly { readonly server_id: string; readonly tokens: number }[]): Part[] {
  const sorted = servers.toSorted((a, b) => b.tokens - a.tokens)
  const named = sorted.slice(0, NAMED).map(({ server_id, tokens }) => ({ name: server_id, tokens }))
  const rest = sorted.slice(NAMED)
  if (rest.length === 0) return named
  const sum = rest.reduce((total, each) => total + each.tokens, 0)
  return [...named, { name: t('moreServers', { count: rest.length }), tokens: sum }]
}
