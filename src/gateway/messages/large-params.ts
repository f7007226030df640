import { hasMoreValues } from '../../kernel/json/json-checks.ts'
import type { Params } from '../../mcp/protocol/call-options.ts'
import { metaOf } from '../../mcp/protocol/json-rpc-message.ts'
import { CODES } from '../../mcp/protocol/mcp-constants.ts'
import {
  bytesIn,
  isObjectJson,
  memberName,
  membersOf,
  membersWith,
  partAt,
  plainOf,
  type RawJson,
} from '../../mcp/protocol/raw-json.ts'
import { type RequestId, RpcError } from './rpc-error.ts'

const KIB = 1024
/** A message up to this size is parsed as a whole. Everything in it is within the limits. */
export const SMALL_MESSAGE_BYTES = 2 * KIB
/** Of names, ids, tokens and cursors. */
const MAX_NAME_BYTES = SMALL_MESSAGE_BYTES
const MAX_URI_BYTES = 8 * KIB
/** Of what an agent says about itself, which is kept as long as its session. */
const MAX_PROFILE_BYTES = 64 * KIB
/** A value of two bytes takes up to a hundred bytes of memory. */
const MAX_PROFILE_VALUES = 1000
const MAX_FILTER_BYTES = 256 * KIB
/** Of a message, of its params, and of a `ref`. Requests have fewer than ten. */
export const MAX_MEMBERS = 1000

/** The params that are kept, or that Toolroom reads itself. All others are only forwarded. */
const MOST_BYTES: Readonly<Record<string, number>> = {
  _meta: MAX_PROFILE_BYTES,
  capabilities: MAX_PROFILE_BYTES,
  clientInfo: MAX_PROFILE_BYTES,
  notifications: MAX_FILTER_BYTES,
  uri: MAX_URI_BYTES,
  name: MAX_NAME_BYTES,
  cursor: MAX_NAME_BYTES,
  level: MAX_NAME_BYTES,
  protocolVersion: MAX_NAME_BYTES,
  requestId: MAX_NAME_BYTES,
  taskId: MAX_NAME_BYTES,
}

/**
 * The params of a large message. What is only forwarded is not parsed, because its objects take far more memory and time than
 * its bytes. Throws when a part that is kept is too large.
 */
export function readLargeParams(
  body: Buffer,
  { start, end }: { readonly start: number; readonly end: number },
  method: string | undefined,
  id: RequestId | undefined,
): Params {
  if (method === 'initialize') {
    if (end - start > MAX_PROFILE_BYTES) throw tooLarge('params', MAX_PROFILE_BYTES, id)
    refuseManyValues(body.subarray(start, end), 'params', id)
  }
  const members = membersOf(body, start, MAX_MEMBERS)
  refuseManyMembers(members, 'params', id)
  const params: Record<string, unknown> = {}
  for (let at = 0; at < members.length; at += 4) {
    const name = memberName(body, members, at)
    const value = paramAt(body, name, members[at + 2] ?? 0, members[at + 3] ?? 0, id)
    if (name === '__proto__') Object.defineProperty(params, name, { value, enumerable: true })
    else params[name] = value
  }
  refuseLong('progressToken', metaOf(params).progressToken, MAX_NAME_BYTES, id)
  return params
}

const REF_MEMBERS = ['type', 'name', 'uri'] as const

/** What Toolroom reads of the `ref` of a completion. Its other members are only forwarded. */
export function refOf({ ref }: Params): Partial<Record<(typeof REF_MEMBERS)[number], unknown>> {
  const { type, name, uri } = membersWith(ref, REF_MEMBERS)
  return { type: plainOf(type), name: plainOf(name), uri: plainOf(uri) }
}

function refuseLargeRef(ref: RawJson, members: readonly number[], id: RequestId | undefined): void {
  refuseManyMembers(members, 'ref', id)
  const { type, name, uri } = membersWith(ref, REF_MEMBERS)
  refuseLarge('ref.type', type, MAX_NAME_BYTES, id)
  refuseLarge('ref.name', name, MAX_NAME_BYTES, id)
  refuseLarge('ref.uri', uri, MAX_URI_BYTES, id)
}

function paramAt(body: Buffer, name: string, start: number, end: number, id: RequestId | undefined): unknown {
  const most = Object.hasOwn(MOST_BYTES, name) ? MOST_BYTES[name] : undefined
  if (most === undefined) {
    const part = partAt(body, start, end)
    if (part.isParsed) return part.value
    if (name === 'ref' && isObjectJson(part)) refuseLargeRef(part, membersOf(body, start, MAX_MEMBERS), id)
    return part
  }
  if (end - start > most + QUOTES) throw tooLarge(name, most, id)
  if (most === MAX_PROFILE_BYTES) refuseManyValues(body.subarray(start, end), name, id)
  return JSON.parse(body.toString('utf8', start, end))
}
const QUOTES = 2

/** Throws when a URI is too long to be kept. */
export function refuseLongUri(uri: string): void {
  refuseLong('uri', uri, MAX_URI_BYTES, undefined)
}

/** Throws when the id of a request is too long to be kept until the response. `bytes`: with its quotes. */
export function refuseLongId(bytes: number): void {
  if (bytes > MAX_NAME_BYTES + QUOTES)
    throw new RpcError(CODES.request, `The id is larger than ${MAX_NAME_BYTES / KIB} KiB`, { status: 400 })
}

function refuseLong(what: string, text: unknown, most: number, id: RequestId | undefined): void {
  if (typeof text === 'string' && Buffer.byteLength(text) > most) throw tooLarge(what, most, id)
}

function refuseLarge(what: string, part: unknown, most: number, id: RequestId | undefined): void {
  if (bytesIn(part) > most + QUOTES) throw tooLarge(what, most, id)
}

function refuseManyMembers(members: readonly number[], what: string, id: RequestId | undefined): void {
  if (members.length > 4 * MAX_MEMBERS)
    throw new RpcError(CODES.params, `${what} has more than ${MAX_MEMBERS} members`, { id })
}

function refuseManyValues(json: Buffer, what: string, id: RequestId | undefined): void {
  if (!hasMoreValues(json, MAX_PROFILE_VALUES)) return
  throw new RpcError(CODES.params, `${what} has more than ${MAX_PROFILE_VALUES} values`, {
    id,
    data: TOO_LARGE,
  })
}

const TOO_LARGE = { code: 'too_large' }
const tooLarge = (what: string, most: number, id: RequestId | undefined): RpcError =>
  new RpcError(CODES.params, `${what} is larger than ${most / KIB} KiB`, { id, data: TOO_LARGE })
