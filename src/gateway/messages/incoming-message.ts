import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import type { IncomingHttpHeaders } from 'node:http'
import type { AnyRequest } from '../../kernel/http/http-types.ts'
import {
  type ByteRange,
  invalidAt,
  isDeeperThan,
  isObject,
  MAX_REQUEST_DEPTH,
} from '../../kernel/json/json-checks.ts'
import type { Params } from '../../mcp/protocol/call-options.ts'
import { metaOf } from '../../mcp/protocol/json-rpc-message.ts'
import {
  CODES,
  LEGACY_SERVER_VERSIONS,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
} from '../../mcp/protocol/mcp-constants.ts'
import {
  LARGE_BYTES,
  memberNamed,
  memberOf,
  membersOf,
  partAt,
  plainOf,
  RawJson,
  rawAt,
  UnparsedJson,
} from '../../mcp/protocol/raw-json.ts'
import { MAX_MEMBERS, readLargeParams, refuseLongId, SMALL_MESSAGE_BYTES } from './large-params.ts'
import { invalidRequest, type RequestId, RpcError } from './rpc-error.ts'

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

/** Throws for any cursor: our lists have one page. Many clients send an empty one for the first page. */
export function refuseCursor({ cursor }: Params): void {
  if (cursor !== undefined && cursor !== '') throw new RpcError(CODES.params, 'Unknown cursor')
}

/** Throws when the body is nested too deeply, or is not a single message. */
export function readIncoming(received: Buffer): Incoming {
  if (received.length > SMALL_MESSAGE_BYTES) return readLarge(received)
  if (isDeeperThan(received, MAX_REQUEST_DEPTH)) throw tooDeep()
  const text = received.toString('utf8')
  let message: unknown
  try {
    message = JSON.parse(text)
  } catch {
    throw notJson()
  }
  if (!isObject(message) || message.jsonrpc !== '2.0') throw notOneMessage()
  const isSent = !text.includes('\n') && !text.includes('\r') && !text.includes(REPLACEMENT)
  const body = isSent ? received : onOneLine(received, text)
  const ascii = isSent && text.length === body.length ? text : undefined
  const members = membersOf(body, 0)
  const { method, params, result, error } = message
  let id: RequestId | undefined
  if (message.id !== undefined) {
    if (typeof message.id !== 'string' && !Number.isFinite(message.id)) throw wrongId()
    const at = memberNamed(body, members, 'id')
    const [start, end] = [members[at + 2], members[at + 3]]
    const json = ascii?.slice(start, end) ?? body.toString('utf8', start, end)
    const value = message.id as string | number
    id = Number.isSafeInteger(value) ? { json, key: value } : requestId(json, value)
  }
  if (method !== undefined && typeof method !== 'string') throw wrongMethod()
  if (params !== undefined && !isObject(params)) throw wrongParams(id)
  const at = params === undefined ? -1 : memberNamed(body, members, 'params')
  const paramsAt = at < 0 ? undefined : { start: members[at + 2] ?? 0, end: members[at + 3] ?? 0 }
  const response = method === undefined ? { result: rawResult(body, members, result), error } : NO_RESPONSE
  return { id, method, params: params ?? {}, body, text: ascii, paramsAt, response }
}

/** The same for a message of any size, of which only what Toolroom itself reads is parsed. */
function readLarge(received: Buffer): Incoming {
  if (isDeeperThan(received, MAX_REQUEST_DEPTH)) throw tooDeep()
  const valid = isUtf8(received) ? received : Buffer.from(received.toString('utf8'))
  if (invalidAt(valid, { start: 0, end: valid.length }, true) >= 0) throw notJson()
  const body = withoutBreaks(valid)
  const members = membersOf(body, 0, MAX_MEMBERS)
  if (members.length > 4 * MAX_MEMBERS)
    throw invalidRequest(`The message has more than ${MAX_MEMBERS} members`)
  const rangeOf = (name: string): ByteRange | undefined => {
    const at = memberNamed(body, members, name)
    return at < 0 ? undefined : { start: members[at + 2] ?? 0, end: members[at + 3] ?? 0 }
  }
  const smallValue = (name: string): unknown => {
    const { start, end } = rangeOf(name) ?? { start: 0, end: 0 }
    if (end === 0) return undefined
    return end - start > SMALL_MESSAGE_BYTES ? TOO_LONG : JSON.parse(body.toString('utf8', start, end))
  }
  if (smallValue('jsonrpc') !== '2.0') throw notOneMessage()
  let id: RequestId | undefined
  const idAt = rangeOf('id')
  if (idAt) {
    refuseLongId(idAt.end - idAt.start)
    const json = body.toString('utf8', idAt.start, idAt.end)
    const value: unknown = JSON.parse(json)
    if (typeof value !== 'string' && !Number.isFinite(value)) throw wrongId()
    id = requestId(json, value as string | number)
  }
  const method = smallValue('method')
  if (method !== undefined && typeof method !== 'string') throw wrongMethod()
  const paramsAt = rangeOf('params')
  if (paramsAt && body[paramsAt.start] !== OPEN_BRACE) throw wrongParams(id)
  const params = paramsAt ? readLargeParams(body, paramsAt, method, id) : {}
  if (method !== undefined)
    return { id, method, params, body, text: undefined, paramsAt, response: NO_RESPONSE }
  const [resultAt, errorAt] = [rangeOf('result'), rangeOf('error')]
  const response = {
    result: resultAt && new UnparsedJson(rawAt(body, resultAt.start, resultAt.end, undefined).json),
    error: errorAt && errorOf(partAt(body, errorAt.start, errorAt.end)),
  }
  return { id, method, params, body, text: undefined, paramsAt, response }
}
const OPEN_BRACE = 0x7b
const TOO_LONG = Symbol('a value that is too long')

/** Only the head of a large error. */
function errorOf(error: RawJson): unknown {
  if (error.isParsed) return error.value
  const [code, message] = ['code', 'message'].map((name) => memberOf(error, name))
  return { code: plainOf(code), message: String(plainOf(message)).slice(0, SMALL_MESSAGE_BYTES) }
}

const tooDeep = (): RpcError =>
  new RpcError(CODES.parse, `The body is nested deeper than ${MAX_REQUEST_DEPTH} levels`, { status: 400 })
const notJson = (): RpcError => new RpcError(CODES.parse, 'The body is not valid JSON', { status: 400 })
const notOneMessage = (): RpcError => invalidRequest('The body is not a single JSON-RPC 2.0 message')
const wrongId = (): RpcError => invalidRequest('The id must be a string or a finite number')
const wrongMethod = (): RpcError => invalidRequest('The method must be a string')
const wrongParams = (id: RequestId | undefined): RpcError =>
  new RpcError(CODES.params, 'params must be an object', { id })

/** Valid JSON without its line breaks, which are between tokens. */
function withoutBreaks(json: Buffer): Buffer {
  if (!json.includes(LF) && !json.includes(CR)) return json
  const line = Buffer.allocUnsafe(json.length)
  let length = 0
  for (const byte of json) {
    if (byte === LF || byte === CR) continue
    line[length] = byte
    length += 1
  }
  return line.subarray(0, length)
}
const [LF, CR] = [0x0a, 0x0d]

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
function requestId(json: string, value: string | number): RequestId {
  const isExact = typeof value === 'string' || !Number.isInteger(value) || Number.isSafeInteger(value)
  return { json, key: isExact || !/^-?\d+$/.test(json) ? value : BigInt(json) }
}

/** The params of a request as the agent wrote them. */
export const rawParams = ({ body, text, paramsAt, params }: Incoming): RawJson =>
  paramsAt ? rawAt(body, paramsAt.start, paramsAt.end, params, text) : new RawJson('{}', params)

/** One of the params as the agent wrote it. */
export function rawParam({ body, text, paramsAt, params }: Incoming, name: string): RawJson | undefined {
  if (!paramsAt || params[name] === undefined) return undefined
  if (params[name] instanceof RawJson) return params[name]
  const members = membersOf(body, paramsAt.start)
  const at = memberNamed(body, members, name)
  if (at < 0) return undefined
  const [start, end] = [members[at + 2] ?? 0, members[at + 3] ?? 0]
  if (text === undefined || end - start > LARGE_BYTES) return rawAt(body, start, end, params[name])
  return new RawJson(text.slice(start, end), params[name])
}

/** Counts the bytes of a body while it arrives. `take` throws when there are too many. */
interface Counted {
  take(keyId: string, bytes: number): void
  free(keyId: string, bytes: number): void
}

const MAX_BYTES = 10 * 1024 * 1024

/** Reads a request body with callbacks, which cost less per call than promises. A disconnect calls neither. */
export function readBody(
  request: AnyRequest,
  onBody: (body: Buffer) => void,
  onError: (error: RpcError) => void,
  counted: Counted,
  keyId: string,
): void {
  if ('body' in request) {
    onBody(request.body)
    return
  }
  const parts: Buffer[] = []
  let length = 0
  const stop = (error: RpcError) => {
    request.off('data', onData).off('end', onEnd).resume()
    forget()
    onError(error)
  }
  const onData = (part: Buffer) => {
    if (length + part.length > MAX_BYTES) {
      stop(new RpcError(CODES.request, 'The body is larger than 10 MiB', { status: 413 }))
      return
    }
    try {
      counted.take(keyId, part.length)
    } catch (error) {
      stop(error as RpcError)
      return
    }
    length += part.length
    parts.push(part)
  }
  /** The request, and with it these functions, can live as long as its connection. */
  const forget = () => {
    counted.free(keyId, length)
    length = 0
    parts.length = 0
  }
  const onEnd = () => {
    const body = parts.length === 1 && parts[0] ? parts[0] : Buffer.concat(parts, length)
    forget()
    onBody(body)
  }
  request
    .on('data', onData)
    .on('end', onEnd)
    .on('close', forget)
    .on('error', () => {})
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

const PATH = /^\/mcp(?:\/([^/?#]+))?\/?(?:\?|$)/

/** `/mcp` or `/mcp/{server_id}`. */
export const isMcpPath = (url: string): boolean => url.startsWith('/mcp') && PATH.test(url)

/** The id of the server in `/mcp/{server_id}`. */
export function serverIdIn(url: string): string | undefined {
  if (url === '/mcp') return undefined
  const segment = PATH.exec(url)?.[1]
  if (segment === undefined) return undefined
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment // it cannot be the id of a server
  }
}

/** The key of the request that a notification cancels. */
export function cancelledKey(message: Incoming): unknown {
  const { requestId: value } = message.params
  if (typeof value !== 'number') return value
  return requestId(String(rawParam(message, 'requestId')?.json), value).key
}

/** Whether a Content-Type is that of JSON. */
export const isJson = (type: string): boolean =>
  type === 'application/json' || /^application\/json\b/i.test(type)

/** The id of a request in the log and in calls. Unique across restarts. */
export const nextRequestId = (): string => {
  requests += 1
  return `${RUN}${requests.toString(36)}`
}
const RUN = `req_${randomBytes(6).toString('base64url')}`
let requests = 0
