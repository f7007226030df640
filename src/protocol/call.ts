import type { CancelSignal } from '../kernel/cancel.ts'
import { CODES } from './codes.ts'
import type { RemoteError } from './json-rpc-message.ts'

/** The `params` of a request, or any other JSON object in the protocol. */
export type Params = Readonly<Record<string, unknown>>

/** Answers a request that a server sends during a call. Rejects with the error that the server gets instead. */
export type OnServerRequest = (method: string, params: unknown) => Promise<unknown>

/**
 * What accompanies one request from its caller to the transport. This is the only declaration: every layer in between
 * passes the object on, so a new option is a new line here, plus the code that sets it and the code that uses it.
 */
export interface CallOptions {
  readonly signal?: CancelSignal | undefined
  /** The caller's `_meta`, forwarded with a tool call: an object or its RawJson. */
  readonly meta?: unknown
  /** Called with the server's progress notifications. A progress token is sent only when this is set. */
  readonly onProgress?: ((params: Params) => void) | undefined
  /** Answers the server's sampling and elicitation requests. */
  readonly onServerRequest?: OnServerRequest | undefined
  /** The caller's client capabilities. Modern servers receive them with each request. */
  readonly capabilities?: object | undefined
  /** The params of a modern client's request, for a modern server. */
  readonly modernParams?: ModernParams | undefined
}

/** The params of a modern client's request. Most servers are legacy, so their JSON is made on demand. */
export interface ModernParams {
  readonly requestState: unknown
  readonly raw: () => unknown
}

/** A request with its time limit. Null: it lasts as long as the connection. */
export interface TimedCallOptions extends CallOptions {
  readonly timeoutMs: number | null
}

/** The result of a request. */
export interface CallResult {
  readonly value: unknown
  /** The result as the server wrote it: digits, spaces, order and unknown fields included. */
  readonly json: Buffer
}

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
