import { isUtf8 } from 'node:buffer'
import type { IncomingHttpHeaders } from 'node:http'
import type { AnyRequest } from '../../kernel/http/http-types.ts'
import { type ByteRange, isDeeperThan, isObject, MAX_REQUEST_DEPTH } from '../../kernel/json/json-checks.ts'

import type { Params } from '../../mcp/protocol/call-options.ts'
import { metaOf } from '../../mcp/protocol/json-rpc-message.ts'
import {
  CODES,
  LEGACY_SERVER_VERSIONS,
  LEGACY_VERSIONS,
  META,
  MODERN_VERSION,
} from '../../mcp/protocol/mcp-constants.ts'
import { LARGE_BYTES, memberNamed, membersOf, RawJson, rawAt } from '../../mcp/protocol/raw-json.ts'
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
