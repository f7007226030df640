import { RemoteFailure } from '../../../net/http-failure.ts'
import type { HttpResponse } from '../../../net/http-response.ts'

/** What a legacy server and we have agreed upon. Not every server has sessions. */
export class Session {
  id: string | undefined
  protocol: string | undefined

  /** For every message but the first. */
  get headers(): Record<string, string> {
    return {
      ...(this.id !== undefined && { 'mcp-session-id': this.id }),
      ...(this.protocol !== undefined && { 'mcp-protocol-version': this.protocol }),
    }
  }

  /** Takes the id from the answer to `initialize`, the only one that tells it. */
  begin({ headers }: HttpResponse): void {
    const id = headers['mcp-session-id']
    this.id = typeof id === 'string' && /^[\x21-\x7e]{1,1024}$/.test(id) ? id : undefined
  }
}

/** Real servers answer a session that they do not know with either. */
export function mayBeLost(status: number): boolean {
  return status === 404 || status === 400
}

export function sessionLost(host: string): RemoteFailure {
  const hint =
    'Connect again; if several copies of the server run behind one address, they must share their sessions'
  return new RemoteFailure('session_lost', `${host} has forgotten the session`, hint, { status: 404 })
}
