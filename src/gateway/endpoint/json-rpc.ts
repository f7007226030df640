import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { isObject } from '../../kernel/is-object.ts'
import { CODES } from '../../protocol/codes.ts'
import { rawMember } from '../../protocol/raw-member.ts'

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

const MAX_BYTES = 10 * 1024 * 1024

/** Reads a request body with callbacks, which cost less per call than promises. A disconnect calls neither. */
export function readBody(
  request: IncomingMessage,
  onBody: (body: Buffer) => void,
  onError: (error: RpcError) => void,
): void {
  const parts: Buffer[] = []
  let length = 0
  const onData = (part: Buffer) => {
    length += part.length
    parts.push(part)
    if (length <= MAX_BYTES) return
    request.off('data', onData).off('end', onEnd).resume()
    onError(new RpcError(CODES.request, 'The body is larger than 10 MiB', { status: 413 }))
  }
  const onEnd = () => onBody(parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, length))
  request
    .on('data', onData)
    .on('end', onEnd)
    .on('error', () => {})
}

/** Below this size, serializing again is as fast as finding the bytes. */
const MIN_BYTES = 8 * 1024
const LF = 0x0a
const CR = 0x0d

/**
 * The bytes of the arguments in a request body, which is valid JSON. Undefined when they must be serialized again: a stdio
 * message is one line, so they must not have line breaks, and invalid UTF-8 was replaced by the parser.
 */
export function rawArgumentsIn(body: Buffer): Buffer | undefined {
  if (body.length < MIN_BYTES || !isUtf8(body)) return undefined
  const params = memberOf(body, 'params')
  const raw = params && memberOf(params, 'arguments')
  return !raw || raw.includes(LF) || raw.includes(CR) ? undefined : raw
}

function memberOf(json: Buffer, name: string): Buffer | undefined {
  const at = rawMember(json, name)
  return at && json.subarray(at.start, at.end)
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
