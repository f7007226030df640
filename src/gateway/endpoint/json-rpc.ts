import { isObject } from '../../kernel/is-object.ts'

/** JSON-RPC as an agent sends it, read once and checked. */
export interface Incoming {
  /** Undefined for a notification. An id of 0 is an id. */
  readonly id: string | number | undefined
  /** Undefined for an answer to something that a server asked. */
  readonly method: string | undefined
  readonly params: Readonly<Record<string, unknown>>
  /** What it was read from. */
  readonly body: Buffer
  /** Of an answer to something that a server asked. */
  readonly answer: { readonly result?: unknown; readonly error?: unknown }
}

export const CODES = {
  parse: -32_700,
  request: -32_600,
  method: -32_601,
  params: -32_602,
  internal: -32_603,
  headers: -32_020,
  version: -32_022,
} as const

/** An answer that is no result, with the status that HTTP gives it. */
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

/** Ours, and so outside of what the protocol keeps for itself. */
const CANCELLED = -31_499

export const cancelled = (): RpcError => new RpcError(CANCELLED, 'The request was cancelled')

/** Throws when it is no single message: batches are a thing of one old revision, and nobody sends them. */
export function readIncoming(body: Buffer): Incoming {
  let message: unknown
  try {
    message = JSON.parse(body.toString('utf8'))
  } catch {
    throw new RpcError(CODES.parse, 'The body is not JSON', { status: 400 })
  }
  if (!isObject(message) || message.jsonrpc !== '2.0')
    throw new RpcError(CODES.request, 'The body is not one JSON-RPC 2.0 message', { status: 400 })
  const { id, method, params, result, error } = message
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number')
    throw new RpcError(CODES.request, 'The id must be a text or a number', { status: 400 })
  if (method !== undefined && typeof method !== 'string')
    throw new RpcError(CODES.request, 'The method must be a text', { status: 400 })
  if (params !== undefined && !isObject(params)) throw new RpcError(CODES.params, 'params must be an object')
  return { id, method, params: params ?? {}, body, answer: { result, error } }
}

/** The result stays as the bytes it came in. */
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

/** What stands before the result; after it there is one brace. */
export const resultHead = (id: string | number): string =>
  `{"jsonrpc":"2.0","id":${typeof id === 'number' ? id : JSON.stringify(id)},"result":`

export function errorMessage(id: string | number | null, { code, message, data }: RpcError): Buffer {
  const error = { code, message, ...(data !== undefined && { data }) }
  return Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, error }))
}
