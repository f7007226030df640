import type { ErrorCode } from '../../kernel/error-catalogue.ts'
import { AppError } from '../../kernel/errors.ts'
import { type LastError, RETRY_LATER, type ServerState } from '../../kernel/server-state.ts'
import { errorView } from '../shared/server-fields.ts'
import type { ServerLife } from './instance-pool.ts'
import type { Server } from './servers.schema.ts'

type Named = Pick<Server, 'id' | 'name' | 'package'>

/** The error of a request that waited for a start which failed. */
export function startError(server: Named, error: LastError, { lastExit, lastError }: ServerLife): AppError {
  const { name } = server
  const { code, message, hint } = error
  if (code === 'shutting_down') return new AppError('shutting_down', message)
  if (code === 'removed') return new AppError('not_found', `'${name}' was deleted while it started`)
  if (code === 'stopped') {
    return new AppError('server_not_running', `'${name}' was stopped while it started`)
  }
  const members = {
    last_error: errorOrNull(code === RETRY_LATER ? lastError : error),
    stderr_tail: lastExit?.stderr_tail ?? [],
  }
  const details = { members, ...(hint !== null && { hint }) }
  if (code === 'start_timeout' || code === RETRY_LATER)
    return new AppError('start_timeout', `'${name}': ${message}`, details)
  if (code === 'out_of_resources') {
    return new AppError('out_of_resources', `'${name}': ${message}`, { ...details, retryAfterS: 5 })
  }
  return new AppError(packageError(server, error) ?? 'server_start_failed', `'${name}': ${message}`, details)
}

const errorOrNull = (error: LastError | null) => error && errorView(error)

/** Only for a server that runs from an installed package: `npx` can end with the same code for one of a registry. */
const packageError = (server: Named, error: LastError | null): ErrorCode | undefined =>
  server.package !== null && error?.code === 'package_not_found' ? 'package_not_found' : undefined

const WORDS: Record<ServerState['status'], string> = {
  stopped: 'is stopped',
  starting: 'is still starting',
  running: 'is running',
  idle: 'is asleep',
  stopping: 'is stopping',
  backoff: 'has failed and will be restarted',
  failed: 'has failed',
}

/** The server is running, but has never listed its tools. */
export function unlisted({ name }: Named, { message, hint }: LastError): AppError {
  const text = `The tools of '${name}' are not known yet: ${message}`
  return new AppError('server_not_running', text, { ...(hint !== null && { hint }) })
}

/** A person stopped the server, or it is started by hand and has not been started yet. */
export function stopped({ id, name }: Named): AppError {
  const hint = `Start it in Toolroom, or run: toolroom start ${id}`
  return new AppError('server_stopped', `'${name}' is stopped, and only a person can start it`, { hint })
}

export function notRunning(server: Named, { state, lastError }: ServerLife): AppError {
  const members = lastError ? { members: { last_error: errorView(lastError) } } : {}
  const hint = lastError?.hint ?? 'Start it first'
  const why = lastError ? `: ${lastError.message}` : ''
  const code = packageError(server, lastError) ?? 'server_not_running'
  return new AppError(code, `'${server.name}' ${WORDS[state.status]}${why}`, { hint, ...members })
}
