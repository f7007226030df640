import type { Static } from 'typebox'
import * as Type from 'typebox'
import { STATUSES } from '../kernel/server-state.ts'
import { orNull, Timestamp } from '../kernel/wire.ts'
import { Stats } from '../upstreams/server-fields.ts'

/** What is true of a server now. Nothing here can be written. */

export const DESIRED_STATES = ['running', 'stopped'] as const
export type DesiredState = (typeof DESIRED_STATES)[number]

const LEVELS = ['healthy', 'degraded', 'unhealthy', 'unknown'] as const
const Health = Type.Object({
  level: Type.Enum(LEVELS),
  summary: Type.String({ description: 'One sentence', examples: ['Running with 12 tools'] }),
  action: orNull(Type.String({ description: 'What to do next, if anything' })),
})
export type Health = Static<typeof Health>

const Code = Type.String({ examples: ['command_not_found'] })
const LastError = Type.Object({
  code: Code,
  message: Type.String({ description: 'The cause, in one sentence' }),
  hint: orNull(Type.String({ description: 'What to do next' })),
})
const LastExit = Type.Object({
  code: orNull(Type.Integer()),
  signal: orNull(Type.String({ examples: ['SIGKILL'] })),
  at: Timestamp,
  stderr_tail: Type.Array(Type.String(), { description: 'The last lines that it wrote' }),
})
const Resources = Type.Object({
  cpu_pct: Type.Number({ description: 'Of one core' }),
  rss_bytes: Type.Integer(),
  processes: Type.Integer({ description: 'It and everything that it started' }),
})
const anything = Type.Object({}, { additionalProperties: true })

export const Live = Type.Object({
  status: Type.Enum(STATUSES, {
    description:
      '`idle` sleeps and wakes on a call, `backoff` tries again by itself, `failed` needs a person',
  }),
  desired_state: Type.Enum(DESIRED_STATES, { description: 'What a person last asked for' }),
  health: Health,
  pid: orNull(Type.Integer()),
  started_at: orNull(Timestamp),
  uptime_s: orNull(Type.Number()),
  restart_count: Type.Integer({ description: 'Since somebody last started it' }),
  next_retry_at: orNull(Timestamp),
  last_exit: orNull(LastExit),
  last_error: orNull(LastError),
  protocol_version: orNull(Type.String({ examples: ['2025-11-25'] })),
  server_info: orNull(anything),
  capabilities: orNull(anything),
  tool_count: orNull(Type.Integer({ description: 'Null until its tools have been seen' })),
  tool_tokens: orNull(Type.Integer({ description: 'About what its tools take of an agent’s context' })),
  resources: orNull(Resources),
  stats: Stats,
  log_lines_dropped: Type.Integer({ description: 'Because there were too many, since Toolroom started' }),
  used_by_agents: Type.Array(Type.String(), { description: 'Whose files have an entry made from it' }),
})
export type Live = Static<typeof Live>
