import { AppError } from '../../kernel/errors.ts'
import type { HttpResponse } from '../../kernel/http/exchange.ts'
import { isObject } from '../../kernel/json/json-checks.ts'
import { CallFailure } from '../../mcp/protocol/call.ts'
import { CODES, type Era } from '../../mcp/protocol/mcp-constants.ts'
import { LARGE_BYTES } from '../../mcp/protocol/raw-json.ts'

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

/** A response that contains the bytes of a result unchanged. */
export function resultMessage(id: RequestId, result: Buffer | string): Buffer {
  const head = resultHead(id)
  if (typeof result === 'string') return Buffer.from(`${head}${result}}`)
  const headBytes = Buffer.byteLength(head)
  const message = Buffer.allocUnsafe(headBytes + result.length + 1)
  message.write(head)
  result.copy(message, headBytes)
  message[headBytes + result.length] = CLOSE_BRACE
  return message
}
const CLOSE_BRACE = 0x7d

/** A response up to the result. After the result, one closing brace completes it. */
const resultHead = ({ json }: RequestId): string => `{"jsonrpc":"2.0","id":${json},"result":`

export function errorMessage(id: RequestId | null, { code, message, data, json }: RpcError): Buffer {
  const error = json ?? JSON.stringify({ code, message, ...(data !== undefined && { data }) })
  return Buffer.from(`{"jsonrpc":"2.0","id":${id?.json ?? null},"error":${error}}`)
}

/** A literal, because objects that are cloned with a spread survive garbage collections. */
const headersOf = (length: number) => ({
  'content-type': 'application/json; charset=utf-8',
  'cache-control': 'no-store',
  'content-length': length,
})
// biome-ignore lint/suspicious/noControlCharactersInRegex: the range is all of ASCII
const ASCII = /^[\x00-\x7f]*$/
const isAscii = ({ key, json }: RequestId): boolean => typeof key === 'number' || ASCII.test(json)

export function sendJson(
  response: HttpResponse,
  status: number,
  body: Buffer,
  headers?: Readonly<Record<string, string>>,
): void {
  response.writeHead(status, Object.assign(headersOf(body.length), headers)).end(body)
}

/** Sends a small result with its headers in one write, and a large result without a copy. */
export function sendResult(response: HttpResponse, id: RequestId, result: Buffer | string): void {
  const head = resultHead(id)
  if (result.length > LARGE_BYTES) {
    const length = Buffer.byteLength(head) + Buffer.byteLength(result) + 1
    response.writeHead(200, headersOf(length))
    response.cork()
    response.write(head)
    response.write(result)
    response.end('}')
    response.uncork()
  } else if (!isAscii(id) || (typeof result === 'string' && !ASCII.test(result))) {
    sendJson(response, 200, resultMessage(id, result))
  } else {
    // As latin1, every character of the text is one byte.
    const text = `${head}${typeof result === 'string' ? result : result.toString('latin1')}}`
    response.writeHead(200, headersOf(text.length)).end(text, 'latin1')
  }
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
