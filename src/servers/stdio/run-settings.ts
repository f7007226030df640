import { invalidField } from '../../kernel/errors.ts'
import type { Isolation } from '../../kernel/isolation-options.ts'
import type { Plan, Program, RestartRules, Timeouts } from '../../kernel/server-plan.ts'
import { DEFAULT_OPTIONS, isolationOver } from './isolation-settings.ts'
import type { RunSettingsInput, Sharing, StartMode } from './run-settings.schema.ts'

/** How a server is run, as stored: when it starts, its time limits, and what happens when its process ends. */
export interface RunSettings extends Isolation {
  readonly start_mode: StartMode
  readonly idle_timeout_s: number
  readonly sharing: Sharing
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
export function settingsOver(current: RunSettings, input: RunSettingsInput): RunSettings {
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

function modeOver(current: StartMode, { start_mode, auto_start }: RunSettingsInput): StartMode {
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
type Runnable = Command & FromPackage & Pick<Plan, 'cwd'> & RunSettings & { readonly env: Environment }
type Environment = Readonly<Record<string, string>>
type FromPackage = { readonly package: string | null }

/** The file of a package's program, or why it cannot be run. */
export type ProgramOf = (packageName: string, program: string) => Program

/** The server with its references resolved, for the start of the process with this id. */
type ResolveFor = (processId: string) => { readonly ok: true; readonly definition: Runnable } | NotStarted
type NotStarted = Extract<Program, { ok: false }>

export function planOf(server: Runnable, programOf: ProgramOf, resolveFor: ResolveFor): Plan {
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

/** True when what runs, its environment, folder or isolation differ: they cannot change while a process runs. */
export function needsRestart(before: Runnable, after: Runnable): boolean {
  const started = ({ package: from, command, args, env, cwd, isolation, isolation_options }: Runnable) => {
    const options = isolation === 'none' ? null : isolation_options
    return JSON.stringify([from, command, args, env, cwd, isolation, options])
  }
  return started(before) !== started(after)
}
