import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import { AppError } from '../../kernel/errors.ts'
import { isObject } from '../../kernel/is-object.ts'
import { isDeeperThan, MAX_REQUEST_DEPTH } from '../../kernel/json-depth.ts'
import { CallFailure, type Params } from '../../protocol/call.ts'
import { CODES } from '../../protocol/codes.ts'
import { rawMember } from '../../protocol/raw-member.ts'
import type { Era } from '../../protocol/versions.ts'

/** A JSON-RPC message of an agent, parsed and validated. */
export interface Incoming {
  /** Undefined for a notification. May be 0. */
  readonly id: string | number | undefined
  /** Undefined for a response to a request of a server. */
  readonly method: string | undefined
  readonly params: Params
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

export const invalidRequest = (message: string, status = 400): RpcError =>
  new RpcError(CODES.request, message, { status })

/** Throws for any cursor: our lists have one page. Many clients send an empty one for the first page. */
export function refuseCursor({ cursor }: Params): void {
  if (cursor !== undefined && cursor !== '') throw new RpcError(CODES.params, 'Unknown cursor')
}

export const resourceNotFound = (uri: string, era: Era): RpcError =>
  new RpcError(era === 'legacy' ? CODES.resourceNotFound : CODES.params, 'Resource not found', {
    data: { uri },
  })

/** A server's error is passed on unchanged. Our own errors carry our code in `data`. */
export function asRpcError(error: unknown, era: Era): RpcError {
  const remote = remoteOf(error) ?? remoteOf((error as Error | undefined)?.cause)
  if (isObject(remote) && typeof remote.code === 'number')
    return new RpcError(remote.code, String(remote.message), {
      data: remote.data,
      status: (era === 'modern' && STATUS[remote.code]) || 200,
    })
  if (!(error instanceof AppError)) {
    const message = error instanceof CallFailure ? error.message : 'The server did not answer'
    return new RpcError(CODES.internal, message)
  }
  const data = { code: error.code, ...(error.hint !== undefined && { hint: error.hint }) }
  return new RpcError(CODES.internal, error.message, { data })
}

const remoteOf = (error: unknown): unknown => (error as { remote?: unknown } | undefined)?.remote

/** The HTTP status of errors in the modern era. */
const STATUS: Readonly<Record<number, number>> = {
  [CODES.method]: 404,
  [CODES.headers]: 400,
  [CODES.missingCapability]: 400,
  [CODES.version]: 400,
}

/** Throws when the body is nested too deeply, or is not a single message. */
export function readIncoming(body: Buffer): Incoming {
  if (isDeeperThan(body, MAX_REQUEST_DEPTH))
    throw new RpcError(CODES.parse, `The body is nested deeper than ${MAX_REQUEST_DEPTH} levels`, {
      status: 400,
    })
  let message: unknown
  try {
    message = JSON.parse(body.toString('utf8'))
  } catch {
    throw new RpcError(CODES.parse, 'The body is not valid JSON', { status: 400 })
  }
  if (!isObject(message) || message.jsonrpc !== '2.0')
    throw invalidRequest('The body is not a single JSON-RPC 2.0 message')
  const { id, method, params, result, error } = message
  if (id !== undefined && typeof id !== 'string' && typeof id !== 'number')
    throw invalidRequest('The id must be a string or a number')
  if (method !== undefined && typeof method !== 'string') throw invalidRequest('The method must be a string')
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
