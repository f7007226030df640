import { isObject } from '../../kernel/is-object.ts'
import { CODES } from '../../protocol/codes.ts'

/** A JSON-RPC message of an agent, parsed and validated. */
export interface Incoming {
  /** Undefined for a notification. May be 0. */
  readonly id: string | number | undefined
  /** Undefined for a response to a request of a server. */
  readonly method: string | undefined
  readonly params: Readonly<Record<string, unknown>>
  /** The bytes it was parsed from. */
  readonly body: Buffer
  /** Of a response to a request of a server. */
  readonly response: { readonly result?: unknown; readonly error?: unknown }
}

/** An error response, with its HTTP status. */
export class RpcError extends Error {
  override readonly name = 'RpcError'
  readonly code: number
  readonly status: number
  readonly data: unknown

  constructor(
    code: number,
    message: string,
    { status = 200, data }: { status?: number; data?: unknown } = {},
  ) {
    super(message)
    this.code = code
    this.status = status
    this.data = data
  }
}

export const cancelled = (): RpcError => new RpcError(CODES.cancelled, 'The request was cancelled')

/** Throws when the body is not a single message. Batches exist in one legacy revision only, and clients do not send them. */
export function readIncoming(body: Buffer): Incoming {
  let message: unknown
  try {
    message = JSON.parse(body.toString('utf8'))
  } catch {
    throw new RpcError(CODES.parse, 'The body is not valid JSON', { status: 400 })
  }
  if (!isObject(message) || message.jsonrpc !== '2.0')
    throw new RpcError(CODES.request, 'The body is not a single JSON-RPC 2.0 message', { status: 400 })
  const { id, method, params, result, error } = message
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number')
    throw new RpcError(CODES.request, 'The id must be a string or a number', { status: 400 })
  if (method !== undefined && typeof method !== 'string')
    throw new RpcError(CODES.request, 'The method must be a string', { status: 400 })
  if (params !== undefined && !isObject(params)) throw new RpcError(CODES.params, 'params must be an object')
  return { id, method, params: params ?? {}, body, response: { result, error } }
}

/** A response that contains the bytes of a result unchanged. */
export function resultMessage(id: string | number, result: Buffer | string): Buffer {
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
export const resultHead = (id: string | number): string =>
  `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":`

export function errorMessage(id: string | number | null, { code, message, data }: RpcError): Buffer {
  const error = { code, message, ...(data !== undefined && { data }) }
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, error }))
}
