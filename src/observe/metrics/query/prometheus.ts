import type { ProcessFigures } from '../own-process-sampler.ts'
import type { Recorder } from '../record/recorder.ts'
import type { Kind, Series } from '../record/series-table.ts'
import { CALL_STATUSES, Cell } from '../sketch/metric-cells.ts'

/** What the text is made from. */
export interface MetricsSources {
  readonly recorder: Recorder
  readonly serverStatuses: () => Readonly<Record<string, number>>
  readonly httpServerStatuses: () => Readonly<Record<string, number>>
  /** All registered servers with their status. */
  readonly servers: () => readonly { readonly server_id: string; readonly status: string }[]
  readonly processFigures: () => ProcessFigures
  readonly uptimeMs: () => number
  readonly now: () => number
}

type Labels = Readonly<Record<string, string>>
type Sample = readonly [suffix: string, labels: Labels, value: number]

/** The histogram buckets of OpenTelemetry's conventions for MCP, in seconds. */
const LIMITS_S = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300]
/** How many label sets are exported; later ones are combined, to limit the memory of Prometheus. */
const MAX_TOOLS = 500
const MAX_CUSTOM = 1000
const MAX_SERVERS = 1000
const OTHER = 'other'
const METHOD = { mcp_method_name: 'tools/call' }

/** Names follow OpenTelemetry's conventions for MCP. */
const METRICS = {
  mcp_client_operation_duration_seconds: [
    'histogram',
    'Duration of tool calls, from the request to the response',
  ],
  toolroom_calls_total: ['counter', 'Tool calls by outcome'],
  toolroom_call_errors_total: ['counter', 'Failed tool calls by error code'],
  toolroom_call_request_bytes_total: ['counter', 'Bytes sent in tool calls'],
  toolroom_call_response_bytes_total: ['counter', 'Bytes received in responses to tool calls'],
  toolroom_http_server_check_duration_seconds: ['histogram', 'Duration of HTTP server checks'],
  toolroom_http_server_checks_total: ['counter', 'HTTP server checks by outcome'],
  toolroom_server_up: [
    'gauge',
    'Whether a call would reach the server; absent for servers that are stopped or disabled',
  ],
  toolroom_server_restarts_total: ['counter', 'Restarts after an exit'],
  toolroom_server_resident_memory_bytes: ['gauge', 'Resident memory of all processes of a server'],
  toolroom_server_cpu_seconds_total: ['counter', 'CPU time used by all processes of a server'],
  toolroom_server_calls_total: ['counter', 'Tool calls by server and outcome'],
  toolroom_server_call_duration_seconds: ['histogram', 'Duration of tool calls by server'],
  mcp_server_states: ['gauge', 'Tool servers by kind and status'],
  toolroom_custom: ['summary', 'Custom metrics recorded by programs'],
  process_cpu_seconds_total: ['counter', 'CPU time used by Toolroom'],
  process_cpu_ratio: ['gauge', 'Share of one CPU core used by Toolroom'],
  process_resident_memory_bytes: ['gauge', 'Resident memory of Toolroom'],
  process_start_time_seconds: ['gauge', 'Start time of Toolroom'],
  nodejs_eventloop_lag_seconds: ['gauge', 'How late timers fire'],
} as const
type Metric = keyof typeof METRICS

/** Counters start at zero with the service, as Prometheus expects. */
export function prometheusText(sources: MetricsSources): string {
  const samples = samplesOf(sources)
  return (Object.keys(METRICS) as Metric[]).map((name) => metricText(name, samples[name])).join('')
}

function samplesOf(sources: MetricsSources): Record<Metric, readonly Sample[]> {
  const { recorder } = sources
  const serverLabel = ({ server_id }: Series) => ({ server_id: server_id ?? OTHER })
  const calls = groups(recorder, 'tool_call', MAX_TOOLS, (series) => ({
    ...serverLabel(series),
    gen_ai_tool_name: series.tool ?? OTHER,
  }))
  const checks = groups(recorder, 'check', MAX_TOOLS, serverLabel)
  const custom = groups(recorder, 'custom', MAX_CUSTOM, ({ name, labels }) => ({
    ...Object.fromEntries(Object.entries(labels ?? {}).map(([label, value]) => [unreserved(label), value])),
    name: name ?? OTHER,
  }))
  const byServer = groups(recorder, 'tool_call', MAX_SERVERS, serverLabel)
  const servers = serverFigures(sources).slice(0, MAX_SERVERS)
  const ofServers = (figure: keyof ServerFigures): Sample[] =>
    servers.flatMap(([labels, figures]) => {
      const value = figures[figure]
      return value === null ? [] : [['', labels, value] as const]
    })
  const { cpu_pct, rss_bytes, event_loop_lag_ms } = sources.processFigures()
  const { user, system } = process.cpuUsage()
  const one = (value: number): Sample[] => [['', {}, value]]
  return {
    mcp_client_operation_duration_seconds: calls.flatMap(([labels, cell]) =>
      histogram([{ ...METHOD, ...labels }, cell]),
    ),
    toolroom_calls_total: calls.flatMap(byStatus),
    toolroom_call_errors_total: calls.flatMap(byCode),
    toolroom_call_request_bytes_total: calls.map(([labels, cell]) => ['', labels, cell.requestBytes]),
    toolroom_call_response_bytes_total: calls.map(([labels, cell]) => ['', labels, cell.responseBytes]),
    toolroom_http_server_check_duration_seconds: checks.flatMap(histogram),
    toolroom_http_server_checks_total: checks.flatMap(byStatus),
    toolroom_server_up: ofServers('up'),
    toolroom_server_restarts_total: ofServers('restarts'),
    toolroom_server_resident_memory_bytes: ofServers('rss'),
    toolroom_server_cpu_seconds_total: ofServers('cpu'),
    toolroom_server_calls_total: byServer.flatMap(byStatus),
    toolroom_server_call_duration_seconds: byServer.flatMap(histogram),
    mcp_server_states: [
      ...states('stdio', sources.serverStatuses()),
      ...states('http', sources.httpServerStatuses()),
    ],
    toolroom_custom: custom.flatMap(quantiles),
    process_cpu_seconds_total: one((user + system) / 1e6),
    process_cpu_ratio: one(cpu_pct / 100),
    process_resident_memory_bytes: one(rss_bytes),
    process_start_time_seconds: one((sources.now() - sources.uptimeMs()) / 1000),
    nodejs_eventloop_lag_seconds: one(event_loop_lag_ms / 1000),
  }
}

/**
 * Adds up the series of a kind by their labels. The newest ones above the maximum become one group. Age decides, not
 * size, so that no event moves from one counter to another.
 */
function groups(
  recorder: Recorder,
  kind: Kind,
  max: number,
  labelsOf: (series: Series) => Labels,
): (readonly [Labels, Cell])[] {
  const found = [...recorder.total().cells].flatMap(([id, cell]) => {
    const series = recorder.series.get(id)
    return series?.kind === kind ? [{ series, cell }] : []
  })
  const sums = new Map<string, readonly [Labels, Cell]>()
  for (const { series, cell } of found.sort((a, b) => a.series.id - b.series.id)) {
    const own = labelsOf(series)
    const isOwn = sums.has(JSON.stringify(own)) || sums.size < max
    const labels = isOwn
      ? own
      : Object.fromEntries(Object.keys(labelsOf(NO_SERIES)).map((name) => [name, OTHER]))
    const key = JSON.stringify(labels)
    const sum = sums.get(key) ?? ([labels, new Cell()] as const)
    sum[1].merge(cell)
    sums.set(key, sum)
  }
  return [...sums.values()]
}

interface ServerFigures {
  readonly up: number | null
  readonly restarts: number
  readonly rss: number | null
  readonly cpu: number
}

const UP: Readonly<Record<string, number>> = {
  ...{ running: 1, idle: 1, connected: 1, degraded: 1 },
  ...{ starting: 0, backoff: 0, failed: 0, auth_required: 0, unreachable: 0, error: 0 },
}

function serverFigures({ recorder, servers }: MetricsSources): (readonly [Labels, ServerFigures])[] {
  return servers().map(({ server_id, status }) => {
    const { restarts, cpuMs, rssBytes } = recorder.availability.totals(server_id)
    const rss = rssBytes > 0 ? rssBytes : null
    return [{ server_id }, { up: UP[status] ?? null, restarts, rss, cpu: cpuMs / 1000 }]
  })
}

const NO_SERIES = { server_id: null, tool: null, name: null, labels: null } as Series

const histogram = ([labels, { sketch }]: readonly [Labels, Cell]): Sample[] => [
  ...LIMITS_S.map(
    (limit): Sample => ['_bucket', { ...labels, le: String(limit) }, sketch.countUpTo(limit * 1000)],
  ),
  ['_bucket', { ...labels, le: '+Inf' }, sketch.count],
  ['_sum', labels, sketch.sum / 1000],
  ['_count', labels, sketch.count],
]

const quantiles = ([labels, { sketch }]: readonly [Labels, Cell]): Sample[] => [
  ...[0.5, 0.9, 0.99].map((q): Sample => ['', { ...labels, quantile: String(q) }, sketch.quantile(q) ?? 0]),
  ['_sum', labels, sketch.sum],
  ['_count', labels, sketch.count],
]

const byStatus = ([labels, cell]: readonly [Labels, Cell]): Sample[] =>
  CALL_STATUSES.map((status): Sample => ['', { ...labels, status }, cell[status]])

const byCode = ([labels, { codes }]: readonly [Labels, Cell]): Sample[] =>
  [...(codes ?? [])].map(([error_type, count]): Sample => ['', { ...labels, error_type }, count])

const states = (type: string, statuses: Readonly<Record<string, number>>): Sample[] =>
  Object.entries(statuses).map(([status, count]): Sample => ['', { type, status }, count])

/** Renames reserved labels the way Prometheus does. */
const unreserved = (label: string): string =>
  ['name', 'quantile', 'le', 'job', 'instance'].includes(label) ? `exported_${label}` : label

function metricText(name: Metric, samples: readonly Sample[]): string {
  if (samples.length === 0) return ''
  const [type, help] = METRICS[name]
  const lines = samples.map(([suffix, labels, value]) => `${name}${suffix}${labelText(labels)} ${value}\n`)
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`
}

function labelText(labels: Labels): string {
  const pairs = Object.entries(labels).map(([label, value]) => `${label}="${escaped(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

const escaped = (value: string): string =>
  value.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('\n', '\\n')
