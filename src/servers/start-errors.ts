import { AppError } from '../kernel/errors.ts'
import type { LastError, ServerState } from '../kernel/server-state.ts'
import type { ServerLife } from './engine.ts'

/** A start that failed, for whoever waited for it. */
export function startError(name: string, error: LastError, { lastExit }: ServerLife): AppError {
  const { code, message, hint } = error
  if (code === 'shutting_down') return new AppError('shutting_down', message)
  if (code === 'removed') return new AppError('not_found', `'${name}' was deleted while it started`)
  if (code === 'stopped') {
    return new AppError('server_not_running', `'${name}' was stopped while it started`)
  }
  const members = { last_error: error, stderr_tail: lastExit?.stderr_tail ?? [] }
  const details = { members, ...(hint !== null && { hint }) }
  if (code === 'start_timeout') return new AppError('start_timeout', `'${name}': ${message}`, details)
  if (code === 'out_of_resources') {
    return new AppError('out_of_resources', `'${name}': ${message}`, { ...details, retryAfterS: 5 })
  }
  return new AppError('server_start_failed', `'${name}': ${message}`, details)
}

const WORDS: Record<ServerState['status'], string> = {
  stopped: 'is stopped',
  starting: 'still starts',
  running: 'runs',
  idle: 'is asleep',
  stopping: 'is about to stop',
  backoff: 'has failed and will be tried again',
  failed: 'has failed',
}

export function notRunning(name: string, { state, lastError }: ServerLife): AppError {
  const members = lastError ? { members: { last_error: lastError } } : {}
  const hint = lastError?.hint ?? 'Start it first'
  const why = lastError ? `: ${lastError.message}` : ''
  return new AppError('server_not_running', `'${name}' ${WORDS[state.status]}${why}`, { hint, ...members })
}
