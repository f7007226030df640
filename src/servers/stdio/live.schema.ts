import type { Static } from 'typebox'
import * as Type from 'typebox'
import { STATUSES } from '../../kernel/server-state.ts'
import { component, orNull, Timestamp } from '../../kernel/wire.ts'
import { describedFields, healthSchema, lastErrorSchema, Stats, toolFields } from '../shared/server-fields.ts'

const DesiredState = Type.Enum(['running', 'stopped'], {
  description: 'The state that a user last requested',
})
export type DesiredState = Static<typeof DesiredState>

const LastExit = Type.Object({
  code: orNull(Type.Integer()),
  signal: orNull(Type.String({ examples: ['SIGKILL'] })),
  at: Timestamp,
  stderr_tail: Type.Array(Type.String(), { description: 'The last lines on stderr' }),
})
const PastExit = Type.Object({
  at: Timestamp,
  code: LastExit.properties.code,
  signal: LastExit.properties.signal,
  ran_s: Type.Number({ description: 'From the start of the process' }),
  stderr_tail: LastExit.properties.stderr_tail,
})
const Resources = Type.Object({
  cpu_pct: Type.Number({ description: 'Percent of one core' }),
  rss_bytes: Type.Integer(),
  processes: Type.Integer({ description: 'The process and all its descendants' }),
})

const InstanceView = Type.Object({
  id: Type.String({ description: '`shared`, or the number of an instance that runs for one client alone' }),
  pid: orNull(Type.Integer()),
  agent_type: orNull(Type.String()),
  session_id: orNull(Type.String({ description: 'The session of the gateway that it runs for' })),
  started_at: Timestamp,
  resources: orNull(Resources),
})
export type InstanceView = Static<typeof InstanceView>
component({ Instance: InstanceView }, 'One process of a server')

/** The current state of a server. Read-only. */
export const Live = Type.Object({
  status: Type.Enum(STATUSES, {
    description:
      '`idle`: asleep until it is called. `backoff`: it failed and is retried automatically. `failed`: it fails until a person changes something',
  }),
  desired_state: DesiredState,
  health: healthSchema('Running with 12 tools'),
  pid: orNull(Type.Integer()),
  started_at: orNull(Timestamp),
  uptime_s: orNull(Type.Number()),
  restart_count: Type.Integer({ description: 'Automatic restarts since a user last started it' }),
  next_retry_at: orNull(Timestamp),
  later_retries_s: Type.Array(Type.Number(), {
    description:
      'In `backoff`: the delays after further failures, within 20 %; the last one is repeated. At most 6 starts a minute',
    examples: [[8, 16, 300]],
  }),
  last_exit: orNull(LastExit),
  recent_exits: Type.Array(PastExit, {
    description: 'The last 5 exits since Toolroom started, newest first, including those after a stop',
  }),
  last_error: lastErrorSchema('command_not_found'),
  ...describedFields,
  capabilities: orNull(Type.Object({}, { additionalProperties: true })),
  ...toolFields,
  resources: orNull(Resources),
  sharing_reason: orNull(
    Type.String({ description: 'Why `sharing: "auto"` gives further sessions a process of their own' }),
  ),
  instances: Type.Array(InstanceView, {
    description: 'Its running processes. `pid` is that of the shared one, `resources` the sum of all',
  }),
  stats: Stats,
  log_lines_dropped: Type.Integer({ description: 'Lines that exceeded the limit since Toolroom started' }),
  used_by_agents: Type.Array(Type.String(), {
    description: 'Agents that have an entry for it, or that may use it through the gateway',
  }),
  restart_needed: Type.Boolean({
    description: 'A process runs with a named secret that was set or deleted after its start',
  }),
})
export type Live = Static<typeof Live>
