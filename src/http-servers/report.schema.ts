import type { Static } from 'typebox'
import * as Type from 'typebox'
import { orNull, Timestamp } from '../kernel/wire.ts'
import { Stats } from '../upstreams/server-fields.ts'

const anything = Type.Object({}, { additionalProperties: true })

export const STATUSES = [
  'unknown',
  'connected',
  'degraded',
  'auth_required',
  'unreachable',
  'error',
  'disabled',
] as const
export type Status = (typeof STATUSES)[number]

const LastError = Type.Object({
  code: Type.String({ examples: ['connection_refused'] }),
  message: Type.String({ description: 'The cause, in one sentence' }),
  hint: orNull(Type.String({ description: 'What to do next' })),
})

/** What a test of the connection found. A server that is silent or broken is a finding, not an error of ours. */
export const ConnectionReport = Type.Object({
  ok: Type.Boolean(),
  latency_ms: orNull(Type.Number()),
  steps: Type.Array(
    Type.Object({
      name: Type.Enum(['dns', 'tcp', 'tls', 'http', 'initialize', 'tools_list']),
      ok: Type.Boolean(),
      ms: Type.Number(),
      detail: Type.String({ description: 'One sentence' }),
    }),
    { description: 'The last one is where it failed, if it did' },
  ),
  transport: orNull(Type.Enum(['streamable_http', 'sse'])),
  protocol_version: orNull(Type.String({ examples: ['2025-11-25'] })),
  server_info: orNull(anything),
  tool_count: orNull(Type.Integer()),
  error: orNull(LastError),
})
export type ConnectionReport = Static<typeof ConnectionReport>

const Health = Type.Object({
  level: Type.Enum(['healthy', 'degraded', 'unhealthy', 'unknown']),
  summary: Type.String({ examples: ['Connected with 12 tools'] }),
  action: orNull(Type.String({ description: 'What to do next, if anything' })),
})
export type Health = Static<typeof Health>

/** What is true of a server now. Nothing here can be written. */
export const Live = Type.Object({
  status: Type.Enum(STATUSES),
  health: Health,
  latency_ms: orNull(Type.Number({ description: 'Of the last check' })),
  last_checked_at: orNull(Timestamp),
  next_check_at: orNull(Timestamp),
  protocol_version: orNull(Type.String({ examples: ['2025-11-25'] })),
  server_info: orNull(anything),
  tool_count: orNull(Type.Integer({ description: 'Null until its tools have been seen' })),
  tool_tokens: orNull(Type.Integer({ description: 'About what its tools take of an agent’s context' })),
  stats: Stats,
  last_error: orNull(LastError),
})
export type Live = Static<typeof Live>
