import { RemoteFailure } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'

/** The session with a legacy server. Not every server uses sessions. */
export class SessionHeaders {
  id: string | undefined
  protocol: string | undefined

  /** The headers of every request but the first. */
  get headers(): Record<string, string> {
    return {
      ...(this.id !== undefined && { 'mcp-session-id': this.id }),
      ...(this.protocol !== undefined && { 'mcp-protocol-version': this.protocol }),
    }
  }

  /** Takes the id from the response to `initialize`. */
  begin({ headers }: HttpResponse): void {
    const id = headers['mcp-session-id']
    this.id = typeof id === 'string' && /^[\x21-\x7e]{1,1024}$/.test(id) ? id : undefined
  }
}

/** Servers answer an unknown session with either status. */
export function mayBeLost(status: number): boolean {
  return status === 404 || status === 400
}

export function sessionLost(host: string): RemoteFailure {
  const hint = 'Connect again. If several instances run behind this address, they must share their sessions'
  return new RemoteFailure('session_lost', `${host} no longer has this session`, hint, { status: 404 })
}
