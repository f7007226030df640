import * as Type from 'typebox'
import { component, ID_PATTERN, listOf, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import { integer, objects, partial, text, textOrNull } from '../../kernel/schema-fields.ts'
import { ServerId } from '../../servers/shared/server-fields.ts'
import { stepField } from '../time-range.ts'
import { WINDOWS } from './metric-history.ts'
import { KINDS } from './record/series-table.ts'

export const LABEL_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,256}$'
export const NAME_PATTERN = '^[A-Za-z_][A-Za-z0-9_.:/-]{0,127}$'

const Window = Type.Enum(WINDOWS, { default: '5m', description: 'Counted back from now' })
const Tool = Type.String({ pattern: LABEL_PATTERN, examples: ['search'] })
const AgentType = Type.String({ pattern: ID_PATTERN, examples: ['claude-code'] })

export const WindowQuery = partial({ window: Window })
export const ToolsQuery = partial({ window: Window, server_id: ServerId })
export const SeriesQuery = partial({
  window: Window,
  step: stepField('about 60 to 170 points'),
  kind: Type.Enum([...KINDS, 'resources'] as const, {
    default: 'tool_call',
    description: '`resources`: CPU and memory of each server',
  }),
  by: Type.Enum(['server_id'] as const, { description: 'One series for each server' }),
  server_id: Type.Array(ServerId, { maxItems: 50, description: 'May be repeated' }),
  tool: Tool,
  agent_type: AgentType,
  name: text('Name of a custom metric', { pattern: NAME_PATTERN }),
})
export type SeriesQuery = Type.Static<typeof SeriesQuery>

const Count = (description?: string) =>
  Type.Integer({ minimum: 0, examples: [12], ...(description && { description }) })
const Share = Type.Number({ minimum: 0, maximum: 1, examples: [0.02], description: 'From 0 to 1' })
const Ms = orNull(Type.Number({ examples: [41.7] }))

const Calls = Type.Object({
  total: Count(),
  ok: Count(),
  error: Count(),
  timeout: Count(),
  cancelled: Count('Cancelled by the caller'),
  rate_per_s: Type.Number({ examples: [0.4] }),
  error_rate: Share,
})
export type Calls = Type.Static<typeof Calls>
component({ CallCounts: Calls }, 'Calls by outcome')

const Latency = Type.Object({ p50: Ms, p90: Ms, p95: Ms, p99: Ms, max: Ms })
export type Latency = Type.Static<typeof Latency>
component({ Latency }, 'Percentiles of all calls, exact within 1 %; null without calls')

const LastCallAt = orNull(Timestamp)
const Figures = { calls: Calls, latency_ms: Latency, last_call_at: LastCallAt }

export const ToolFigures = Type.Object({
  server_id: textOrNull('Null: several servers, combined because there are too many'),
  tool: orNull(Type.String()),
  ...Figures,
  request_bytes: Count(),
  response_bytes: Count(),
})
export type ToolFigures = Type.Static<typeof ToolFigures>
component({ ToolFigures }, 'The calls of one tool')
export const ToolFiguresList = listOf(ToolFigures)

export const AgentFigures = Type.Object({
  agent_type: textOrNull('Null: calls without a known agent'),
  ...Figures,
})
export type AgentFigures = Type.Static<typeof AgentFigures>
component({ AgentFigures }, 'The calls of one agent')
export const AgentFiguresList = listOf(
  Type.Object({
    ...AgentFigures.properties,
    context_tokens: orNull(
      integer(
        'Approximate context size of the tools that the agent sees at the gateway; null: the agent has no gateway key',
        { minimum: 0 },
      ),
    ),
  }),
)
component({ AgentMetricsList: AgentFiguresList }, 'The calls of each agent')

const ByStatus = Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
  description: 'Number of servers by status',
  examples: [{ running: 3, stopped: 1 }],
})

export const Summary = Type.Object({
  uptime_s: Type.Integer({ minimum: 0, examples: [86_400] }),
  servers: ByStatus,
  http_servers: ByStatus,
  calls: Calls,
  latency_ms: Latency,
  top_tools: Type.Array(ToolFigures, { description: 'The ten most called tools' }),
  slowest_tools: Type.Array(ToolFigures, { description: 'The ten tools with the highest p95' }),
  top_errors: objects('The ten most frequent errors', {
    error_code: Type.String(),
    server_id: orNull(Type.String()),
    count: Count(),
  }),
  agents: Type.Array(AgentFigures),
  process: Type.Object({
    cpu_pct: Type.Number({ examples: [1.4] }),
    rss_bytes: Count(),
    event_loop_lag_ms: Type.Number({ examples: [0.3] }),
  }),
})
export type Summary = Type.Static<typeof Summary>
component({ MetricsSummary: Summary }, 'The figures of the window')

export const Point = Type.Object({
  ts: Timestamp,
  calls: Count(),
  errors: Count('Including timeouts'),
  cancelled: Count(),
  p50: Ms,
  p90: Ms,
  p95: Ms,
  p99: Ms,
  max: Ms,
  request_bytes: Count(),
  response_bytes: Count(),
})
export type Point = Type.Static<typeof Point>
component({ MetricsPoint: Point }, 'The calls of one step')
export const Timeseries = Type.Object({
  window: Type.Enum(WINDOWS),
  step_s: Type.Integer({ minimum: 1, examples: [60] }),
  points: Type.Array(Point),
})
export type Timeseries = Type.Static<typeof Timeseries>
component({ Timeseries }, 'One point for each step')

const ServerPoint = Type.Object({
  ...Point.properties,
  down_s: Type.Number({
    minimum: 0,
    examples: [12.5],
    description: 'Seconds in which the server was not available, although it should have been',
  }),
})
export type ServerPoint = Type.Static<typeof ServerPoint>

const Measured = (example: number) =>
  Type.Union([
    Type.Object({ avg: Type.Number({ examples: [example] }), max: Type.Number({ examples: [example] }) }),
    Type.Null(),
  ])
const ResourcePoint = Type.Object(
  { ts: Timestamp, cpu_pct: Measured(1.4), rss_bytes: Measured(52_428_800) },
  { description: 'The sum of all processes of the server; null while it did not run' },
)
export type ResourcePoint = Type.Static<typeof ResourcePoint>

/** With `by=server_id`, or of resources. */
export const ServerTimeseries = Type.Object({
  window: Type.Enum(WINDOWS),
  step_s: Type.Integer({ minimum: 1, examples: [60] }),
  series: objects({
    server_id: textOrNull('Null: several servers, combined because there are too many', {
      examples: ['github'],
    }),
    calls: Type.Optional(Calls),
    latency_ms: Type.Optional(
      Type.Object(Latency.properties, {
        description: 'Of all steps together, as `calls`. Not for resources',
      }),
    ),
    points: Type.Union([Type.Array(ServerPoint), Type.Array(ResourcePoint)]),
  }),
})
export type ServerTimeseries = Type.Static<typeof ServerTimeseries>
component({ ServerTimeseries }, 'One series for each server')

export const AnyTimeseries = Type.Union([Timeseries, ServerTimeseries])
component({ AnyTimeseries }, 'One point for each step, or one series for each server')

export const ServerMetrics = Type.Object({
  server_id: Type.String({ examples: ['github'] }),
  window: Type.Enum(WINDOWS),
  calls: Calls,
  errors: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
    description: 'Number of errors by code',
    examples: [{ timeout: 2 }],
  }),
  latency_ms: Latency,
  last_call_at: LastCallAt,
  availability_pct: orNull(
    Type.Number({
      minimum: 0,
      maximum: 100,
      description:
        'Share of successful checks. Of a STDIO server: share of the time in which it should have been available and was; null if it should not have been',
    }),
  ),
  checks: objects('The last 100 checks, newest first', {
    ts: Timestamp,
    ok: Type.Boolean(),
    duration_ms: Type.Number(),
    error_code: orNull(Type.String()),
  }),
  series: Type.Array(Point),
})
export type ServerMetrics = Type.Static<typeof ServerMetrics>
component({ ServerMetrics }, 'The figures of one server')

/** Metrics of a server in the list of servers, over 24 hours. */
export interface ServerStats {
  readonly calls: number
  readonly errors: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly last_call_at: string | null
}
