import * as Type from 'typebox'
import { invalidField } from '../../kernel/errors.ts'
import { boolean, integer, optional, partial } from '../../kernel/fields.ts'
import type { Isolation, Plan, Program, RestartRules, Timeouts } from '../../kernel/server-state.ts'
import { orNull } from '../../kernel/wire.ts'
import { REQUEST_S_DESCRIPTION } from '../shared/calls.ts'
import { DEFAULT_OPTIONS, isolationInput, isolationOver, isolationView } from './isolation.ts'

/** How a server is run: when it starts, its time limits, and what happens when its process ends. */

const seconds = (minimum: number, maximum: number, description: string) =>
  integer(description, { minimum, maximum })

const fields = {
  start_mode: Type.Enum(['on_demand', 'eager', 'manual'], {
    description:
      '`on_demand`: a call starts it, and it stops when idle. `eager`: it starts with Toolroom. `manual`: a person starts it, and it starts again with Toolroom if it was running.',
  }),
  auto_start: boolean('`true` is the same as `start_mode: "eager"`, and `false` alone as `"on_demand"`'),
  idle_timeout_s: seconds(1, 604_800, 'For `on_demand`: seconds without a call until it goes to sleep'),
  sharing: Type.Enum(['auto', 'shared', 'per_agent', 'per_session'], {
    description:
      'Whether agents share one process. `auto`: they share until the server asks its client something, logs for a call or announces tasks; after that, further sessions get a process of their own',
  }),
  max_instances: integer('How many processes of their own sessions and agents may have at a time', {
    minimum: 1,
    maximum: 64,
  }),
}
const restart = {
  policy: Type.Enum(['on_failure', 'always', 'never']),
  max_delay_s: seconds(1, 86_400, 'Longest pause between two restarts'),
}
const timeouts = {
  start_s: seconds(1, 600, 'For the handshake and the list of tools'),
  request_s: orNull(seconds(1, 3600, REQUEST_S_DESCRIPTION)),
  stop_s: seconds(
    1,
    60,
    'Until it is killed: two sevenths after its input is closed, the rest after SIGTERM',
  ),
}

const some = { minProperties: 1 }
export const settingsInput = {
  ...isolationInput,
  ...optional({ ...fields, restart: partial(restart, some), timeouts: partial(timeouts, some) }),
}
export const settingsView = {
  ...isolationView,
  ...fields,
  restart: Type.Object(restart),
  timeouts: Type.Object(timeouts),
}

export const StartQuery = partial({
  wait_s: integer('How long the response may wait for the start; 0: not at all', {
    minimum: 0,
    maximum: 600,
    default: 30,
  }),
})

const Input = Type.Object(settingsInput)
type Input = Type.Static<typeof Input>
export type StartMode = Type.Static<typeof fields.start_mode>

/** As stored. */
export interface RunSettings extends Isolation {
  readonly start_mode: StartMode
  readonly idle_timeout_s: number
  readonly sharing: Type.Static<typeof fields.sharing>
  readonly max_instances: number
  readonly restart: RestartRules
  readonly timeouts: Timeouts
}

export const DEFAULT_SETTINGS: RunSettings = {
  isolation: 'none',
  isolation_options: DEFAULT_OPTIONS,
  start_mode: 'on_demand',
  idle_timeout_s: 300,
  sharing: 'auto',
  max_instances: 8,
  restart: { policy: 'on_failure', max_delay_s: 300 },
  timeouts: { start_s: 60, request_s: null, stop_s: 7 },
}

/** The current settings with the given ones applied. */
export function settingsOver(current: RunSettings, input: Input): RunSettings {
  return {
    ...isolationOver(current, input),
    start_mode: modeOver(current.start_mode, input),
    idle_timeout_s: input.idle_timeout_s ?? current.idle_timeout_s,
    sharing: input.sharing ?? current.sharing,
    max_instances: input.max_instances ?? current.max_instances,
    restart: { ...current.restart, ...input.restart },
    timeouts: { ...current.timeouts, ...input.timeouts },
  }
}

function modeOver(current: StartMode, { start_mode, auto_start }: Input): StartMode {
  if (auto_start === undefined) return start_mode ?? current
  if (start_mode !== undefined && auto_start !== (start_mode === 'eager')) {
    const message = `contradicts start_mode: ${auto_start} with '${start_mode}'`
    throw invalidField('/auto_start', message, 'Send one of the two')
  }
  if (auto_start) return 'eager'
  return start_mode ?? (current === 'manual' ? 'manual' : 'on_demand')
}

interface Command {
  readonly command: string
  readonly args: readonly string[]
}
type Runnable = Command & Pick<Plan, 'cwd'> & RunSettings & { readonly env: Environment }
type Environment = Readonly<Record<string, string>>
type FromPackage = { readonly package: string | null }

/** The file of a package's program, or why it cannot be run. */
export type ProgramOf = (packageName: string, program: string) => Program

type Stored = Runnable & FromPackage
/** The server with its references resolved, for the start of the process with this id. */
type ResolveFor = (processId: string) => { readonly ok: true; readonly definition: Stored } | NotStarted
type NotStarted = Extract<Program, { ok: false }>

export function planOf(server: Stored, programOf: ProgramOf, resolveFor: ResolveFor): Plan {
  const { cwd, restart, timeouts, isolation, isolation_options } = server
  const confinement = { isolation, isolation_options }
  const sleeps_after_s = server.start_mode === 'on_demand' ? server.idle_timeout_s : null
  const program: Plan['program'] = (processId) => {
    const resolved = resolveFor(processId)
    if (!resolved.ok) return resolved
    const found = programFor(resolved.definition, programOf)
    return found.ok ? { ...found, env: resolved.definition.env } : found
  }
  return { program, cwd, confinement, restart, timeouts, sleeps_after_s }
}

/** The server's own command, or the program of its package followed by the server's arguments. */
export function programFor(server: Command & FromPackage, programOf: ProgramOf): Program {
  const { command, args } = server
  if (server.package === null) return { ok: true, command, args }
  const program = programOf(server.package, command)
  return program.ok ? { ...program, args: [...program.args, ...args] } : program
}

/** True when the command, arguments, environment, folder or isolation differ: they cannot change while a process runs. */
export function needsRestart(before: Runnable, after: Runnable): boolean {
  const started = ({ command, args, env, cwd, isolation, isolation_options }: Runnable) =>
    JSON.stringify([command, args, env, cwd, isolation, isolation === 'none' ? null : isolation_options])
  return started(before) !== started(after)
}
