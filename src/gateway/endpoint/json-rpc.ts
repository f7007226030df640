import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import { AppError } from '../../kernel/errors.ts'
import type { AnyRequest } from '../../kernel/http/exchange.ts'
import { isObject } from '../../kernel/is-object.ts'
import { type ByteRange, isDeeperThan, MAX_REQUEST_DEPTH } from '../../kernel/json/json-scan.ts'
import { CallFailure, type Params } from '../../mcp/protocol/call.ts'
import { metaOf } from '../../mcp/protocol/json-rpc-message.ts'
import {
  CODES,
  type Era,
  LEGACY_SERVER_VERSIONS,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
} from '../../mcp/protocol/mcp-constants.ts'
import { LARGE_BYTES, memberNamed, membersOf, RawJson, rawAt } from '../../mcp/protocol/raw-json.ts'

/** The id of a request. */
export interface RequestId {
  /** As the agent wrote it, for responses. */
  readonly json: string
  /** Equal for the same id: `1.0` is the id 1, and two integers that JavaScript cannot tell apart are two ids. */
  readonly key: string | number | bigint
}

/** A JSON-RPC message of an agent, parsed and validated. */
export interface Incoming {
  /** Undefined for a notification. */
  readonly id: RequestId | undefined
  /** Undefined for a response to a request of a server. */
  readonly method: string | undefined
  readonly params: Params
  /** The bytes it was parsed from, without line breaks. */
  readonly body: Buffer
  /** The body, decoded, if every character is one byte. */
  readonly text: string | undefined
  /** Where the params are in `body`. Undefined when there are none. */
  readonly paramsAt: ByteRange | undefined
  /** Of a response to a request of a server. The result is RawJson. */
  readonly response: { readonly result?: unknown; readonly error?: unknown }
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

/** Throws for any cursor: our lists have one page. Many clients send an empty one for the first page. */
export function refuseCursor({ cursor }: Params): void {
  if (cursor !== undefined && cursor !== '') throw new RpcError(CODES.params, 'Unknown cursor')
}

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

/** Throws when the body is nested too deeply, or is not a single message. */
export function readIncoming(received: Buffer): Incoming {
  if (isDeeperThan(received, MAX_REQUEST_DEPTH))
    throw new RpcError(CODES.parse, `The body is nested deeper than ${MAX_REQUEST_DEPTH} levels`, {
      status: 400,
    })
  const text = received.toString('utf8')
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    throw new RpcError(CODES.parse, 'The body is not valid JSON', { status: 400 })
  }
  if (!isObject(message) || message.jsonrpc !== '2.0')
    throw invalidRequest('The body is not a single JSON-RPC 2.0 message')
  const isSent = !text.includes('\n') && !text.includes('\r') && !text.includes(REPLACEMENT)
  const body = isSent ? received : onOneLine(received, text)
  const ascii = isSent && text.length === body.length ? text : undefined
  const members = membersOf(body, 0)
  const { method, params, result, error } = message
  let id: RequestId | undefined
  if (message.id !== undefined) {
    if (typeof message.id !== 'string' && !Number.isFinite(message.id))
      throw invalidRequest('The id must be a string or a finite number')
    const at = memberNamed(body, members, 'id')
    const [start, end] = [members[at + 2], members[at + 3]]
    const json = ascii?.slice(start, end) ?? body.toString('utf8', start, end)
    const value = message.id as string | number
    id = Number.isSafeInteger(value) ? { json, key: value } : requestId(json, value)
  }
  if (method !== undefined && typeof method !== 'string') throw invalidRequest('The method must be a string')
  if (params !== undefined && !isObject(params))
    throw new RpcError(CODES.params, 'params must be an object', { id })
  const at = params === undefined ? -1 : memberNamed(body, members, 'params')
  const paramsAt = at < 0 ? undefined : { start: members[at + 2] ?? 0, end: members[at + 3] ?? 0 }
  const response = method === undefined ? { result: rawResult(body, members, result), error } : NO_RESPONSE
  return { id, method, params: params ?? {}, body, text: ascii, paramsAt, response }
}

/**
 * Valid JSON on one line, because a stdio message is one line: its line breaks are between tokens. Invalid UTF-8 is replaced,
 * as in the parsed text.
 */
function onOneLine(json: Buffer, text: string): Buffer {
  const hasBreaks = text.includes('\n') || text.includes('\r')
  return hasBreaks || !isUtf8(json) ? Buffer.from(text.replaceAll(/[\r\n]+/g, '')) : json
}
const REPLACEMENT = '\ufffd'
const NO_RESPONSE = {}

function rawResult(body: Buffer, members: readonly number[], result: unknown): RawJson | undefined {
  if (result === undefined) return undefined
  const at = memberNamed(body, members, 'result')
  return rawAt(body, members[at + 2] ?? 0, members[at + 3] ?? 0, result)
}

/** `json`: the text of a finite number or a string, of which `value` was parsed. */
export function requestId(json: string, value: string | number): RequestId {
  const isExact = typeof value === 'string' || !Number.isInteger(value) || Number.isSafeInteger(value)
  return { json, key: isExact || !/^-?\d+$/.test(json) ? value : BigInt(json) }
}

/** The params of a request as the agent wrote them. */
export const rawParams = ({ body, text, paramsAt, params }: Incoming): RawJson =>
  paramsAt ? rawAt(body, paramsAt.start, paramsAt.end, params, text) : new RawJson('{}', params)

/** One of the params as the agent wrote it. */
export function rawParam({ body, text, paramsAt, params }: Incoming, name: string): RawJson | undefined {
  if (!paramsAt || params[name] === undefined) return undefined
  const members = membersOf(body, paramsAt.start)
  const at = memberNamed(body, members, name)
  if (at < 0) return undefined
  const [start, end] = [members[at + 2] ?? 0, members[at + 3] ?? 0]
  if (text === undefined || end - start > LARGE_BYTES) return rawAt(body, start, end, params[name])
  return new RawJson(text.slice(start, end), params[name])
}

const MAX_BYTES = 10 * 1024 * 1024

/** Reads a request body with callbacks, which cost less per call than promises. A disconnect calls neither. */
export function readBody(
  request: AnyRequest,
  onBody: (body: Buffer) => void,
  onError: (error: RpcError) => void,
): void {
  if ('body' in request) {
    onBody(request.body)
    return
  }
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
export const resultHead = ({ json }: RequestId): string => `{"jsonrpc":"2.0","id":${json},"result":`

export function errorMessage(id: RequestId | null, { code, message, data, json }: RpcError): Buffer {
  const error = json ?? JSON.stringify({ code, message, ...(data !== undefined && { data }) })
  return Buffer.from(`{"jsonrpc":"2.0","id":${id?.json ?? null},"error":${error}}`)
}

/** Whether a request belongs to the modern era: detected from `_meta`, else from the header. */
export function isModern({ params }: Incoming, headers: IncomingHttpHeaders): boolean {
  if (params._meta !== undefined && metaOf(params)[META.protocolVersion] !== undefined) return true
  const header = headers['mcp-protocol-version']
  return (
    typeof header === 'string' &&
    !LEGACY_VERSIONS.some((known) => known === header) &&
    header >= MODERN_VERSION
  )
}

/** As servers with the official SDK do: any version they know is accepted, also when the session has another one. */
export function refuseUnknownVersion(header: string | string[] | undefined): void {
  if (header === undefined || LEGACY_SERVER_VERSIONS.includes(String(header))) return
  const known = LEGACY_SERVER_VERSIONS.join(', ')
  const message = `Bad Request: Unsupported protocol version: ${String(header).slice(0, 40)} (supported versions: ${known})`
  throw new RpcError(CODES.badRequest, message, { status: 400 })
}
