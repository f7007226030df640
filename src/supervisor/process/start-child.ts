import { homedir } from 'node:os'
import { delimiter, resolve } from 'node:path'
import { MASK } from '../../kernel/secrets/mask-secrets.ts'
import type { Launch, Plan } from '../../kernel/server-plan.ts'
import type { LastError } from '../../kernel/server-state.ts'
import type { Resolved, Unresolved } from '../platform/find-program.ts'
import type { Platform, ProcessGroup, ProcessGroups, Launch as ProcessLaunch } from '../platform/platform.ts'

/** A start that failed. With `retry: false` the user has to change something first. */
export class StartFailure extends Error {
  override readonly name = 'StartFailure'
  readonly error: LastError
  readonly retry: boolean

  constructor(error: LastError, retry: boolean) {
    super(error.message)
    this.error = error
    this.retry = retry
  }
}

/** What to run. */
export type Definition = Pick<Plan, 'cwd'> & Omit<Extract<Launch, { ok: true }>, 'ok'>

export type FindProgram = (
  wanted: Pick<Definition, 'command' | 'env' | 'cwd'> & { readonly args?: readonly string[] },
) => Resolved

/** Finds the program that a start would run, or why there is none. `added` are folders to search after those of PATH. */
export const programFinder =
  (platform: Pick<Platform, 'resolve'>, added: () => string | undefined = () => undefined): FindProgram =>
  ({ command, args, env, cwd }) => {
    const more = added()
    const path = more === undefined ? {} : { PATH: [process.env.PATH, more].filter(Boolean).join(delimiter) }
    const found = platform.resolve(command, {
      args,
      cwd: cwd ?? homedir(),
      env: { ...process.env, ...path, ...env },
    })
    return found.ok ? found : withoutFoldersIn(env, cwd ?? homedir(), found)
  }

const SEARCHED = /^(?:PATH|HOME|USERPROFILE|NVM_DIR)$/i

/**
 * The message can be read without the token, and a value of `env` may be a secret. Folders that Toolroom has in its own PATH,
 * too, are shown.
 */
function withoutFoldersIn(env: Definition['env'], cwd: string, found: Unresolved): Unresolved {
  const known = new Set([homedir(), ...(process.env.PATH ?? '').split(delimiter)])
  const folders = Object.entries(env)
    .flatMap(([name, value]) => (SEARCHED.test(name) ? value.split(delimiter) : []))
    .filter((folder) => folder !== '' && !known.has(folder))
    .map((folder) => resolve(cwd, folder))
    .sort((a, b) => b.length - a.length)
  const shown = (text: string) =>
    folders.reduce((left, folder) => (isRoot(folder) ? left : left.replaceAll(folder, MASK)), text)
  return { ...found, message: shown(found.message), hint: shown(found.hint) }
}

const isRoot = (folder: string): boolean => resolve(folder, '..') === folder

export interface Starting {
  readonly groups: Pick<ProcessGroups, 'start'>
  /** May have to wait until it knows where to search. */
  readonly findProgram: (...wanted: Parameters<FindProgram>) => Resolved | Promise<Resolved>
}

/** Changes a launch so that its program runs in isolation, or says why that is impossible. */
export type Confine = (
  launch: ProcessLaunch & { readonly cwd: string },
) => Promise<
  { readonly ok: true; readonly launch: ProcessLaunch } | { readonly ok: false; readonly error: LastError }
>

/** Finds the program and starts it. Rejects with a StartFailure. */
export async function startChild(
  { command, args, env, cwd }: Definition,
  mark: string,
  { groups, findProgram }: Starting,
  confine?: Confine,
): Promise<ProcessGroup> {
  const found = await findProgram({ command, args, env, cwd })
  if (!found.ok) {
    const { code, message, hint, action } = found
    throw new StartFailure({ code, message, hint, action }, false)
  }
  const { searchPath, ok: _, ...program } = found
  const launch = { ...program, env: { ...env, PATH: searchPath }, mark }
  const confined = confine ? await confine(launch) : { ok: true as const, launch }
  if (!confined.ok) throw new StartFailure(confined.error, false)
  try {
    return await groups.start(confined.launch)
  } catch (error) {
    throw notSpawned(error)
  }
}

/** A shortage passes, so the start is retried. Every other cause needs the user. */
const SHORTAGES: Readonly<Record<string, string>> = {
  EMFILE: 'open files',
  ENFILE: 'open files',
  EAGAIN: 'processes',
  ENOMEM: 'memory',
}

function notSpawned(cause: unknown): StartFailure {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : ''
  const shortage = SHORTAGES[code]
  if (shortage !== undefined) {
    const message = `The system could not start the process: no ${shortage} left (${code})`
    const hint =
      'Stop servers or programs that you do not need, or raise the limit. Toolroom retries the start'
    return new StartFailure({ code: 'out_of_resources', message, hint, action: { kind: 'start' } }, true)
  }
  if (code === 'E2BIG') {
    const message = 'The system could not start the process: arguments and environment are too large (E2BIG)'
    const action = { kind: 'edit_arguments' } as const
    return new StartFailure({ code: 'spawn_failed', message, hint: 'Shorten args or env', action }, false)
  }
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `The system could not start the process: ${reason}`
  const hint = 'Check the command, its arguments and its environment'
  return new StartFailure({ code: 'spawn_failed', message, hint, action: { kind: 'edit_command' } }, false)
}

/** The process of a server, wherever it runs. In a container it has no pid on this computer. */
export interface ServerProcess extends Omit<ProcessGroup, 'pid'> {
  readonly pid: number | null
}
