import { type AnyServer, isStdio, serverNamed } from '../run/any-server.ts'
import { columns } from '../run/columns.ts'
import type { Run } from '../run/command-context.ts'
import { bytes, clock, counted, elapsed, milliseconds, share } from '../run/human-readable.ts'
import { type Line, textOf, toned } from '../run/printed-line.ts'
import type { Api, Schemas } from '../run/service-client.ts'

type Window = Schemas['ServerMetrics']['window']
type Figures = Pick<Schemas['ToolFigures'], 'calls' | 'latency_ms'>

const HEAD = ['CALLS', 'ERR', 'P50', 'P95', 'P99']

/** `toolroom stats [SERVER]` */
export const showStats: Run = async ({ api, given, terminal }) => {
  const window = (given.flag('window') ?? '1h') as Window
  const name = given.wordIfAny('SERVER')
  const server = name === undefined ? undefined : await serverNamed(api, name)
  const query = { window, ...(server && { server_id: server.id }) }
  const { items: tools } = await api.get('/api/metrics/tools', { query })
  const figures = server
    ? await metricsOf(api, server, window)
    : await api.get('/api/metrics/summary', { query: { window } })
  const rows = [...tools]
    .sort((a, b) => b.calls.total - a.calls.total)
    .map((figures) => [figures.server_id, figures.tool, ...cellsOf(figures)])
  return {
    json: { ...figures, tools },
    lines: [
      `${server?.name ?? 'All servers'}, last ${window}: ${sentence(figures)}`,
      ...('process' in figures ? [serviceLine(figures)] : serverLines(figures)),
      ...(rows.length === 0 ? [] : columns({ head: ['SERVER', 'TOOL', ...HEAD], rows }, terminal.width)),
    ],
    plain: rows.map((row) => row.map(textOf)),
  }
}

function metricsOf(api: Api, server: AnyServer, window: Window): Promise<Schemas['ServerMetrics']> {
  const input = { path: { id: server.id }, query: { window } }
  return isStdio(server)
    ? api.get('/api/metrics/servers/{id}', input)
    : api.get('/api/http-servers/{id}/metrics', input)
}

const failuresOf = ({ total, ok }: Figures['calls']): number => total - ok

function sentence({ calls, latency_ms }: Figures): string {
  if (calls.total === 0) return 'no calls'
  const [, failed, p50, p95, p99] = cellsOf({ calls, latency_ms }).map(textOf)
  return `${counted(calls.total, 'call')}, ${failed} failed, p50 ${p50}, p95 ${p95}, p99 ${p99}`
}

const cellsOf = ({ calls, latency_ms: { p50, p95, p99 } }: Figures): (string | number | null)[] => [
  calls.total,
  share(failuresOf(calls), calls.total),
  milliseconds(p50),
  milliseconds(p95),
  milliseconds(p99),
]

const serviceLine = ({ uptime_s, process }: Schemas['MetricsSummary']): Line =>
  `Service: up ${elapsed(uptime_s)}, CPU ${Math.round(process.cpu_pct)}%, memory ${bytes(process.rss_bytes)}`

function serverLines({ availability_pct, errors, last_call_at }: Schemas['ServerMetrics']): Line[] {
  const kinds = Object.entries(errors).map(([code, count]) => `${code} ${count}`)
  return [
    ...(availability_pct === null ? [] : [`Available ${availability_pct.toFixed(1)}% of the time`]),
    ...(kinds.length === 0 ? [] : [[toned('err', `Failures: ${kinds.join(', ')}`)]]),
    ...(last_call_at === null ? [] : [`Last call: ${clock(last_call_at)}`]),
  ]
}
