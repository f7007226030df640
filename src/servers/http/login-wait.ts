import { randomUUID } from 'node:crypto'
import { AppError } from '../../kernel/errors.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { CallFailure } from '../../mcp/protocol/call-failure.ts'
import type { CallOptions } from '../../mcp/protocol/call-options.ts'
import { plainOf } from '../../mcp/protocol/raw-json.ts'
import { codeOf } from './connection-failure.ts'

/** What is needed of the logins at HTTP servers. */
export interface LoginPort {
  /** Whether only a login can help after a refused request. */
  needsLogin(id: string): boolean
  /** The page that begins a login. There is one for each server, however many calls wait. */
  ticketOf(id: string): { readonly start_url: string }
  /** Why the last login failed or ended. */
  stateOf(id: string): { readonly error: { readonly message: string } | null }
  /** False when there is no login in time. */
  whenLoggedIn(id: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean>
}

interface Refused {
  readonly id: string
  readonly name: string
}

/** How long a call waits for a login. */
const WAIT_MS = 5 * 60_000
const REFUSED = ['auth_required', 'forbidden']

/** Whether a request failed because the server needs a login. */
export const isLoginMissing = (error: unknown, { id }: Refused, logins: LoginPort): boolean =>
  REFUSED.includes(codeOf(error)) && logins.needsLogin(id)

/**
 * Asks the client of a call to open the login page, and waits for the login. Rejects with `login_needed` when the client
 * cannot be asked, when its user declines, and when there is no login in time.
 */
export async function awaitLogin(server: Refused, logins: LoginPort, options: CallOptions): Promise<void> {
  const { onServerRequest, signal } = options
  if (!onServerRequest) throw loginNeeded(server, logins)
  const stop = new AbortController()
  const abort = () => stop.abort()
  signal?.addEventListener('abort', abort, { once: true })
  try {
    const asked = onServerRequest('elicitation/create', {
      mode: 'url',
      elicitationId: randomUUID(),
      url: logins.ticketOf(server.id).start_url,
      message: `${server.name} needs a login. Open this page to log in. The call then continues`,
    })
    const loggedIn = logins.whenLoggedIn(server.id, WAIT_MS, stop.signal)
    if (await Promise.race([loggedIn, refusalOf(asked)])) return
    throw signal?.aborted
      ? new CallFailure('cancelled', 'The call was cancelled while it waited for a login')
      : loginNeeded(server, logins)
  } finally {
    stop.abort()
    signal?.removeEventListener('abort', abort)
  }
}

/** The sentence says all that an agent needs, because most agents show nothing else. */
export function loginNeeded({ id, name }: Refused, logins: LoginPort): AppError {
  const { start_url } = logins.ticketOf(id)
  const { error } = logins.stateOf(id)
  const why = error ? `. The last login is over: ${error.message}` : ''
  return new AppError('login_needed', `${name} needs a login: open ${start_url}, then call again${why}`, {
    hint: `Or run: toolroom login ${id}`,
    members: { start_url },
  })
}

/** Resolves with false when the client declines or cannot be asked. An accepted question says nothing about the login. */
function refusalOf(asked: Promise<unknown>): Promise<false> {
  return new Promise((resolve) => {
    asked.then(
      (answer) => {
        const given = plainOf(answer)
        if (!isObject(given) || given.action !== 'accept') resolve(false)
      },
      () => resolve(false),
    )
  })
}
