import type { Static } from 'typebox'
import * as Type from 'typebox'
import { ID_PATTERN, listOf, orNull, Timestamp } from '../kernel/wire.ts'
import { KINDS } from './record/series.ts'
import { WINDOWS } from './windows/levels.ts'

export const LABEL_PATTERN = '^[^\\u0000-\\u001f\\u007f-\\u009f]{1,256}$'
export const NAME_PATTERN = '^[A-Za-z_][A-Za-z0-9_.:/-]{0,127}$'

const Window = Type.Enum(WINDOWS, { default: '5m', description: 'Counted back from now' })
const ServerId = Type.String({ pattern: ID_PATTERN, examples: ['github'] })
const Tool = Type.String({ pattern: LABEL_PATTERN, examples: ['search'] })
const AgentType = Type.String({ pattern: ID_PATTERN, examples: ['claude-code'] })
const strict = { additionalProperties: false } as const

export const WindowQuery = Type.Object({ window: Type.Optional(Window) }, strict)
export const ToolsQuery = Type.Object(
  { window: Type.Optional(Window), server_id: Type.Optional(ServerId) },
  strict,
)
export const SeriesQuery = Type.Object(
  {
    window: Type.Optional(Window),
    step: Type.Optional(
      Type.String({
        pattern: '^[1-9]\\d{0,4}(s|m|h|d)$',
        expected: 'a duration, such as 10s, 5m or 1h',
        examples: ['1m'],
        description: 'What one point covers; by default about 60 to 170 points',
      }),
    ),
    kind: Type.Optional(Type.Enum(KINDS, { default: 'tool_call' })),
    server_id: Type.Optional(ServerId),
    tool: Type.Optional(Tool),
    agent_type: Type.Optional(AgentType),
    name: Type.Optional(Type.String({ pattern: NAME_PATTERN, description: 'Of a custom metric' })),
  },
  strict,
)
export type SeriesQuery = Static<typeof SeriesQuery>

const Count = (description?: string) =>
  Type.Integer({ minimum: 0, examples: [12], ...(description && { description }) })
const Share = Type.Number({ minimum: 0, maximum: 1, examples: [0.02], description: 'From 0 to 1' })
const Ms = orNull(Type.Number({ examples: [41.7] }))

const Calls = Type.Object({
  total: Count(),
  ok: Count(),
  error: Count(),
  timeout: Count(),
  cancelled: Count('By whoever had called'),
  rate_per_s: Type.Number({ examples: [0.4] }),
  error_rate: Share,
})
export type Calls = Static<typeof Calls>

/** True percentiles, right within 1 %; null when there were no calls. */
const Latency = Type.Object(
  { p50: Ms, p90: Ms, p95: Ms, p99: Ms, max: Ms },
  { description: 'True percentiles within 1 %; null when there were no calls' },
)
export type Latency = Static<typeof Latency>

const LastCallAt = orNull(Timestamp)
const Figures = { calls: Calls, latency_ms: Latency, last_call_at: LastCallAt }

export const ToolFigures = Type.Object({
  server_id: orNull(Type.String({ description: 'Null: of servers too many to be told apart' })),
  tool: orNull(Type.String()),
  ...Figures,
  request_bytes: Count(),
  response_bytes: Count(),
})
export type ToolFigures = Static<typeof ToolFigures>
export const ToolFiguresList = listOf(ToolFigures)

export const AgentFigures = Type.Object({
  agent_type: orNull(Type.String({ description: 'Null: called by nobody that is known as an agent' })),
  ...Figures,
})
export type AgentFigures = Static<typeof AgentFigures>
export const AgentFiguresList = listOf(
  Type.Object({
    ...AgentFigures.properties,
    context_tokens: orNull(
      Type.Integer({
        minimum: 0,
        description:
          'About what the tools that it sees at the gateway take of its context; null: it has no key',
      }),
    ),
  }),
)

const ByStatus = Type.Record(Type.String(), Type.Integer({ minimum: 0 }), {
  description: 'How many, by status',
  examples: [{ running: 3, stopped: 1 }],
})

export const Summary = Type.Object({
  uptime_s: Type.Integer({ minimum: 0, examples: [86_400] }),
  servers: ByStatus,
  http_servers: ByStatus,
  calls: Calls,
  latency_ms: Latency,
  top_tools: Type.Array(ToolFigures, { description: 'The ten that are called most' }),
  slowest_tools: Type.Array(ToolFigures, { description: 'The ten with the highest p95' }),
  top_errors: Type.Array(
    Type.Object({ error_code: Type.String(), server_id: orNull(Type.String()), count: Count() }),
    { description: 'The ten that come most often' },
  ),
  agents: Type.Array(AgentFigures),
  process: Type.Object({
    cpu_pct: Type.Number({ examples: [1.4] }),
    rss_bytes: Count(),
    event_loop_lag_ms: Type.Number({ examples: [0.3] }),
  }),
})
export type Summary = Static<typeof Summary>

export const Point = Type.Object({
  ts: Timestamp,
  calls: Count(),
  errors: Count('Timeouts included'),
  cancelled: Count(),
  p50: Ms,
  p90: Ms,
  p95: Ms,
  p99: Ms,
  max: Ms,
  request_bytes: Count(),
  response_bytes: Count(),
})
export type Point = Static<typeof Point>
export const Timeseries = Type.Object({
  window: Type.Enum(WINDOWS),
  step_s: Type.Integer({ minimum: 1, examples: [60] }),
  points: Type.Array(Point),
})
export type Timeseries = Static<typeof Timeseries>

export const ServerMetrics = Type.Object({
  server_id: Type.String({ examples: ['github'] }),
  window: Type.Enum(WINDOWS),
  calls: Calls,
  errors: Type.Record(Type.String(), Type.Integer({ minimum: 1 }), {
    description: 'How many, by code',
    examples: [{ timeout: 2 }],
  }),
  latency_ms: Latency,
  last_call_at: LastCallAt,
  availability_pct: orNull(
    Type.Number({ minimum: 0, maximum: 100, description: 'Of the checks; null when there were none' }),
  ),
  checks: Type.Array(
    Type.Object({
      ts: Timestamp,
      ok: Type.Boolean(),
      duration_ms: Type.Number(),
      error_code: orNull(Type.String()),
    }),
    { description: 'The last 100, the newest first' },
  ),
  series: Type.Array(Point),
})
export type ServerMetrics = Static<typeof ServerMetrics>

/** What a list of servers shows of each, over 24 hours. */
export interface ServerStats {
  readonly calls: number
  readonly errors: number
  readonly p50_ms: number | null
  readonly p95_ms: number | null
  readonly last_call_at: string | null
}
