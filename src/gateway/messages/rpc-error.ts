import { AppError } from '../../kernel/errors.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { CallFailure } from '../../mcp/protocol/call-failure.ts'
import { CODES, type Era } from '../../mcp/protocol/mcp-constants.ts'

/** The id of a request. */
export interface RequestId {
  /** As the agent wrote it, for responses. */
  readonly json: string
  /** Equal for the same id: `1.0` is the id 1, and two integers that JavaScript cannot tell apart are two ids. */
  readonly key: string | number | bigint
}

interface RpcErrorDetails {
  readonly status?: number
  readonly data?: unknown
  readonly id?: RequestId | undefined
  readonly cause?: unknown
  readonly json?: string | undefined
}

/** An error response, with its HTTP status. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly status: number
  readonly data: unknown
  /** The request that it answers, when it was thrown before the request could be handled. */
  readonly id: RequestId | undefined
  /** The error as its server wrote it. */
  readonly json: string | undefined

  constructor(code: number, message: string, { status = 200, data, id, cause, json }: RpcErrorDetails = {}) {
    super(message, { cause })
    this.json = json
    this.code = code
    this.status = status
    this.data = data
    this.id = id
  }
}

export const cancelled = (): RpcError => new RpcError(CODES.cancelled, 'The request was cancelled')

export const invalidRequest = (message: string, status = 400): RpcError =>
  new RpcError(CODES.request, message, { status })

export const resourceNotFound = (uri: string, era: Era): RpcError =>
  new RpcError(era === 'legacy' ? CODES.resourceNotFound : CODES.params, 'Resource not found', {
    data: { uri },
  })

/** A server's error is passed on as it was written. Our own errors carry our code in `data`. */
export function asRpcError(error: unknown, era: Era): RpcError {
  const remote = remoteOf(error) ?? remoteOf((error as Error | undefined)?.cause)
  if (isObject(remote) && typeof remote.code === 'number')
    return new RpcError(remote.code, String(remote.message), {
      data: remote.data,
      json: typeof remote.json === 'string' ? remote.json : undefined,
      status: (era === 'modern' && STATUS[remote.code]) || 200,
    })
  if (!(error instanceof AppError)) {
    const message = error instanceof CallFailure ? error.message : 'The server did not answer'
    return new RpcError(CODES.internal, message)
  }
  const data = { code: error.code, ...(error.hint !== undefined && { hint: error.hint }) }
  return new RpcError(CODES.internal, error.message, { data, cause: error })
}

const remoteOf = (error: unknown): unknown => (error as { remote?: unknown } | undefined)?.remote

/** The HTTP status of errors in the modern era. */
const STATUS: Readonly<Record<number, number>> = {
  [CODES.method]: 404,
  [CODES.headers]: 400,
  [CODES.missingCapability]: 400,
  [CODES.version]: 400,
}

const HOW = 'Send it as Authorization: Bearer <key>'

/** Why a request without a valid gateway key is refused. */
export const KEY_REFUSALS = {
  missing_key: `The gateway needs a gateway key. ${HOW}`,
  invalid_key: `The gateway key is wrong or was deleted. Create one with POST /api/keys, or connect the agent again`,
  management_token: `This is the management token, which does not open the gateway. Create a gateway key with POST /api/keys. ${HOW}`,
} as const

export const keyRefusal = (code: keyof typeof KEY_REFUSALS): RpcError =>
  new RpcError(CODES.noKey, KEY_REFUSALS[code], { status: 401, data: { code } })
