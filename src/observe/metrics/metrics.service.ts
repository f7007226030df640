import { notFound } from '../../kernel/did-you-mean.ts'
import { isoTime } from '../../kernel/time.ts'
import { ceilTo, STEP_MS, type WindowName } from './metric-history.ts'
import type {
  SeriesQuery,
  ServerMetrics,
  ServerStats,
  ServerTimeseries,
  Summary,
  Timeseries,
} from './metrics.schema.ts'
import { type MetricsSources, prometheusText } from './query/prometheus.ts'
import { availabilityOf, timeseriesByServer } from './query/server-timeseries.ts'
import {
  agentsIn,
  callsOf,
  errorsOf,
  lastOf,
  latencyOf,
  quantileOf,
  round,
  summaryOf,
  toolsIn,
} from './query/summary.ts'
import { matches, timeseriesOf } from './query/timeseries.ts'
import { eventsOf, type MetricEvent } from './record/metric-events.schema.ts'
import { Cell } from './sketch/metric-cells.ts'

/** Provided by `compose/observe.ts`. */
interface Deps extends MetricsSources {
  readonly retentionDays: number
  /** The id of the server with this id or name, of one kind or of both. */
  readonly findServer: (key: string, kind?: 'http') => Promise<string | undefined>
  /** What to do about a server that does not exist. */
  readonly hintFor: (key: string, kind?: 'http') => string | undefined
  /** Approximate context size of the tools that an agent sees; null without a gateway key. */
  readonly contextTokens: (agentType: string) => number | null
}

export function createMetrics(deps: Deps) {
  const { recorder, now } = deps
  const statsCache = new Map<string, { version: number; minute: number; stats: ServerStats }>()

  function forServer(server_id: string, window: WindowName): ServerMetrics {
    const { from, tally } = recorder.window(window)
    const only = [server_id]
    const [calls, checks] = [new Cell(), new Cell()]
    for (const [id, cell] of tally.cells) {
      const series = recorder.series.get(id)
      if (matches(series, { kind: 'tool_call', server_id: only })) calls.merge(cell)
      else if (matches(series, { kind: 'check', server_id: only })) checks.merge(cell)
    }
    return {
      server_id,
      window,
      calls: callsOf(calls, (now() - from) / 1000),
      errors: Object.fromEntries(calls.codes ?? []),
      latency_ms: latencyOf(calls),
      last_call_at: lastOf(calls),
      availability_pct:
        checks.count === 0
          ? availabilityOf(recorder, server_id, window, now())
          : round((checks.ok / checks.count) * 100),
      checks: recorder.checks
        .of(server_id)
        .map(({ ts, ok, duration_ms, error_code }) => ({ ts: isoTime(ts), ok, duration_ms, error_code }))
        .reverse(),
      series: timeseriesOf(recorder, { window, server_id: only }, now()).points,
    }
  }

  return {
    /** Records all events or none, and returns how many. */
    record(body: MetricEvent | readonly MetricEvent[]): number {
      const events = eventsOf(body, now(), deps.retentionDays)
      recorder.record(events)
      return events.length
    },

    summary(window: WindowName): Summary {
      return {
        uptime_s: Math.floor(deps.uptimeMs() / 1000),
        servers: { ...deps.serverStatuses() },
        http_servers: { ...deps.httpServerStatuses() },
        ...summaryOf(recorder, window, now()),
        process: { ...deps.processFigures() },
      }
    },

    timeseries(query: SeriesQuery): Timeseries | ServerTimeseries {
      if (query.by === undefined && query.kind !== 'resources') return timeseriesOf(recorder, query, now())
      const ids = deps.servers().map(({ server_id }) => server_id)
      return timeseriesByServer(recorder, query, ids, now())
    },
    tools: (window: WindowName, server_id?: string) => toolsIn(recorder, window, now(), server_id),
    agents: (window: WindowName) =>
      agentsIn(recorder, window, now()).map((figures) => {
        const { agent_type } = figures
        return { ...figures, context_tokens: agent_type === null ? null : deps.contextTokens(agent_type) }
      }),

    /** Finds the server by id or name; a deleted server by id, as long as it has metrics. */
    async ofServer(key: string, window: WindowName, kind?: 'http'): Promise<ServerMetrics> {
      const deleted = kind === undefined && recorder.series.ofServer(key) ? key : undefined
      const id = (await deps.findServer(key, kind)) ?? deleted
      if (id !== undefined) return forServer(id, window)
      const name = kind === 'http' ? 'HTTP server' : 'server'
      throw notFound(`No ${name} has the id or name '${key.slice(0, 100)}'`, deps.hintFor(key, kind))
    },

    /** Over 24 hours. Cached until the next event or minute, because a list needs it for every server. */
    statsOf(server_id: string): ServerStats {
      const server = recorder.series.ofServer(server_id)
      if (!server) return NOTHING
      const minute = ceilTo(now(), STEP_MS.minutes) // the window moves with it
      const cached = statsCache.get(server_id)
      if (cached?.version === server.version && cached.minute === minute) return cached.stats
      const { tally } = recorder.window('24h')
      const sum = new Cell()
      for (const series of server.series) {
        const cell = series.kind === 'tool_call' ? tally.cells.get(series.id) : undefined
        if (cell) sum.merge(cell)
      }
      const stats = statsOfCell(sum)
      statsCache.set(server_id, { version: server.version, minute, stats })
      return stats
    },

    /** In the Prometheus text format 0.0.4. */
    prometheus: (): string => prometheusText(deps),
  }
}
export type Metrics = ReturnType<typeof createMetrics>

const NOTHING: ServerStats = { calls: 0, errors: 0, p50_ms: null, p95_ms: null, last_call_at: null }

function statsOfCell(cell: Cell): ServerStats {
  return {
    calls: cell.count,
    errors: errorsOf(cell),
    p50_ms: quantileOf(cell.sketch, 0.5),
    p95_ms: quantileOf(cell.sketch, 0.95),
    last_call_at: lastOf(cell),
  }
}
