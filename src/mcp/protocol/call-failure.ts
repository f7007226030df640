import type { RemoteError } from './json-rpc-message.ts'
import { CODES } from './mcp-constants.ts'

/** Why a request has no result. `remote`: the server answered with an error. */
export type FailureReason = 'remote' | 'timeout' | 'cancelled' | 'closed' | 'too_large' | 'busy'

/** A request without a result. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure'
  readonly reason: FailureReason
  /** The server's error, unchanged. */
  readonly remote: RemoteError | undefined

  constructor(reason: FailureReason, message: string, remote?: RemoteError) {
    super(message)
    this.reason = reason
    this.remote = remote
  }
}

/** Whether the server does not support the method. Some servers declare a capability without its methods. */
export function isMethodNotFound(error: unknown): boolean {
  return error instanceof CallFailure && error.remote?.code === CODES.method
}
