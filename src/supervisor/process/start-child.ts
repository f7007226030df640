import { homedir } from 'node:os'
import type { LastError, Launch, Plan } from '../../kernel/server-state.ts'
import { Child } from './child.ts'
import { type Resolved, resolveCommand } from './resolve-command.ts'
import { errnoOf } from './signals.ts'

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

/** The program that a start would run, or why there is none. */
export const findProgram = ({ command, env, cwd }: Pick<Definition, 'command' | 'env' | 'cwd'>): Resolved =>
  resolveCommand(command, {
    cwd: cwd ?? homedir(),
    env: { ...process.env, ...env },
    platform: process.platform,
  })

/** Finds the program and spawns it. Rejects with a StartFailure. */
export async function startChild({ command, args, env, cwd }: Definition, mark: string): Promise<Child> {
  const found = findProgram({ command, env, cwd })
  if (!found.ok) {
    const { code, message, hint } = found
    throw new StartFailure({ code, message, hint }, false)
  }
  try {
    const own = { ...env, PATH: found.searchPath }
    return await Child.start({ path: found.path, args, cwd: found.cwd, env: own, mark })
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
  const code = String(errnoOf(cause))
  const shortage = SHORTAGES[code]
  if (shortage !== undefined) {
    const message = `The system could not start the process: no ${shortage} left (${code})`
    const hint =
      'Stop servers or programs that you do not need, or raise the limit. Toolroom retries the start'
    return new StartFailure({ code: 'out_of_resources', message, hint }, true)
  }
  if (code === 'E2BIG') {
    const message = 'The system could not start the process: arguments and environment are too large (E2BIG)'
    return new StartFailure({ code: 'spawn_failed', message, hint: 'Shorten args or env' }, false)
  }
  const reason = cause instanceof Error ? cause.message : String(cause)
  const message = `The system could not start the process: ${reason}`
  const hint = 'Check the command, its arguments and its environment'
  return new StartFailure({ code: 'spawn_failed', message, hint }, false)
}
