import type { Static } from 'typebox'
import * as Type from 'typebox'
import { component, orNull, Timestamp } from '../../kernel/wire.ts'
import { AuthView } from '../logins/auth-view.schema.ts'
import { describedFields, healthSchema, lastErrorSchema, Stats, toolFields } from '../shared/server-fields.ts'

const Status = Type.Enum([
  'unknown',
  'connected',
  'degraded',
  'auth_required',
  'unreachable',
  'error',
  'disabled',
])
export type Status = Static<typeof Status>

/** The result of a connection test. A server that does not answer is a result, not a request error. */
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
    { description: 'In order. A failed step is the last one' },
  ),
  transport: orNull(Type.Enum(['streamable_http', 'sse'])),
  ...describedFields,
  tool_count: orNull(Type.Integer()),
  error: lastErrorSchema('connection_refused'),
})
export type ConnectionReport = Static<typeof ConnectionReport>
component({ ConnectionReport }, 'The result of each step of the test')

/** The current state of a server. Read-only. */
export const Live = Type.Object({
  status: Status,
  health: healthSchema('Connected with 12 tools'),
  auth: AuthView,
  latency_ms: orNull(Type.Number({ description: 'Duration of the last successful check' })),
  last_checked_at: orNull(Timestamp),
  next_check_at: orNull(Timestamp),
  ...describedFields,
  ...toolFields,
  stats: Stats,
  last_error: lastErrorSchema('connection_refused'),
})
export type Live = Static<typeof Live>
