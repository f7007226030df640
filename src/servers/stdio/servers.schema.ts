import * as Type from 'typebox'
import { component, mapOf, orNull, Timestamp } from '../../kernel/rest-parts.ts'
import {
  anyObject,
  boolean,
  closed,
  integer,
  optional,
  partial,
  text,
  textOrNull,
  texts,
} from '../../kernel/schema-fields.ts'
import { MASK } from '../../kernel/secrets/mask-secrets.ts'
import { STATUSES } from '../../kernel/server-state.ts'
import { AllowOutgoing, outgoing } from '../shared/definition/outgoing.ts'
import { masked } from '../shared/masked-values.ts'
import {
  describedFields,
  ForAgents,
  healthSchema,
  last_try,
  lastErrorSchema,
  recordFields,
  ServerId,
  ServerName,
  type ServerRecord,
  Stats,
  Tags,
  toolFields,
  used_by_agents,
} from '../shared/server-fields.ts'
import { offerInput, offerView } from '../shared/tool-settings.ts'
import { settingsInput, settingsView } from './run-settings.schema.ts'
import type { RunSettings } from './run-settings.ts'

const DesiredState = Type.Enum(['running', 'stopped'], {
  description: 'The state that a user last requested',
})
export type DesiredState = Type.Static<typeof DesiredState>

const exit = { code: orNull(Type.Integer()), signal: orNull(Type.String({ examples: ['SIGKILL'] })) }
const stderr_tail = texts('The last lines on stderr')
const LastExit = Type.Object({ ...exit, at: Timestamp, stderr_tail })
const ran_s = Type.Number({ description: 'From the start of the process' })
const PastExit = Type.Object({ at: Timestamp, ...exit, ran_s, stderr_tail })
const Resources = Type.Object({
  cpu_pct: Type.Number({ description: 'Percent of one core' }),
  rss_bytes: Type.Integer(),
  processes: integer('The process and all its descendants'),
})

const InstanceView = Type.Object({
  id: text('`shared`, or the number of an instance that runs for one client alone'),
  pid: orNull(Type.Integer()),
  agent_type: orNull(Type.String()),
  session_id: textOrNull('The session of the gateway that it runs for'),
  started_at: Timestamp,
  resources: orNull(Resources),
})
export type InstanceView = Type.Static<typeof InstanceView>
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
  restart_count: integer('Automatic restarts since a user last started it'),
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
  last_try,
  last_error: lastErrorSchema('command_not_found'),
  ...describedFields,
  capabilities: orNull(anyObject()),
  ...toolFields,
  resources: orNull(Resources),
  sharing_reason: textOrNull('Why `sharing: "auto"` gives further sessions a process of their own'),
  instances: Type.Array(InstanceView, {
    description: 'Its running processes. `pid` is that of the shared one, `resources` the sum of all',
  }),
  stats: Stats,
  log_lines_dropped: integer('Lines that exceeded the limit since Toolroom started'),
  used_by_agents,
  restart_needed: boolean('A process runs with a named secret that was set or deleted after its start'),
})
export type Live = Type.Static<typeof Live>

/** TOOLROOM_* is reserved, so that a server cannot pass for Toolroom. */
const ENV_KEY = '^(?![Tt][Oo][Oo][Ll][Rr][Oo][Oo][Mm]_)[^=\\u0000-\\u001f\\u007f]{1,256}$'
const ABSOLUTE_PATH = '^(?:/|~/|[A-Za-z]:[\\\\/]|\\\\\\\\)[^\\u0000-\\u001f]*$'
const example = { args: ['-y', '@modelcontextprotocol/server-github'], env: { GITHUB_TOKEN: 'ghp_…' } }

const Command = text('The program only; its arguments belong in args', {
  minLength: 1,
  maxLength: 4096,
  pattern: '^[^\\u0000-\\u001f]+$',
  expected: 'one line',
  examples: ['npx'],
})
/** With a package, the command is one of its programs, and may be omitted if there is only one. */
const Package = text('The name of an installed package to run', {
  minLength: 1,
  maxLength: 214,
  examples: ['@modelcontextprotocol/server-memory'],
})
const Args = Type.Array(Type.String({ maxLength: 32_768 }), { maxItems: 256, examples: [example.args] })
const Cwd = orNull(
  Type.String({
    maxLength: 4096,
    pattern: ABSOLUTE_PATH,
    expected: 'an absolute path',
    examples: ['/home/me/notes'],
  }),
)
const Description = orNull(Type.String({ maxLength: 2000 }))

const settings = optional({
  args: Args,
  env: mapOf(ENV_KEY, Type.String({ maxLength: 32_768 }), 256),
  cwd: Cwd,
  description: Description,
  tags: Tags,
  ...settingsInput,
  ...offerInput,
})

export const ServerInput = closed({
  name: ServerName,
  ...optional({ type: Type.Literal('stdio'), command: Command, package: Package }),
  ...settings,
  agents: Type.Optional(ForAgents),
})
export type ServerInput = Type.Static<typeof ServerInput>
component({ ServerInput }, 'A STDIO server to add', {
  examples: [{ name: 'GitHub', command: 'npx', ...example }],
})

export const ServerPatch = partial({
  name: ServerName,
  command: Command,
  package: orNull(
    text(
      'An installed package to run from now on. If the server runs it with npx, the arguments of its program stay. null, with a command: none',
      { minLength: 1, maxLength: 214 },
    ),
  ),
  ...settings,
  allow_outgoing: AllowOutgoing,
})
export type ServerPatch = Type.Static<typeof ServerPatch>
component({ ServerPatch }, 'The fields of a STDIO server to change', {
  minProperties: 1,
  examples: [{ env: { GITHUB_TOKEN: MASK, LOG_LEVEL: 'debug' } }],
})

/** A server as the API shows it. The values of env are secrets, so the type allows only '***'. */
export const ServerView = Type.Object({
  id: ServerId,
  type: Type.Literal('stdio'),
  name: ServerName,
  command: Command,
  package: orNull(Package),
  args: Args,
  env: masked({ GITHUB_TOKEN: MASK }),
  cwd: Cwd,
  description: Description,
  tags: Tags,
  ...settingsView,
  ...offerView,
  outgoing,
  ...Live.properties,
  ...recordFields,
})
export type ServerView = Type.Static<typeof ServerView>
component({ Server: ServerView }, 'A STDIO server and its state')

/** A STDIO server as it is stored. */
export interface Server extends ServerRecord, RunSettings {
  readonly command: string
  /** The package that it runs from. The command is one of its programs then. */
  readonly package: string | null
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string>>
  readonly cwd: string | null
  readonly description: string | null
  readonly tags: readonly string[]
}
