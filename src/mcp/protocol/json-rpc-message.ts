import {
  type ByteRange,
  hasMoreValues,
  invalidAt,
  isDeeperThan,
  isObject,
  MAX_MESSAGE_DEPTH,
} from '../../kernel/json/json-checks.ts'
import { trimmed } from './json-items.ts'
import { CODES } from './mcp-constants.ts'
import {
  LARGE_BYTES,
  memberNamed,
  membersOf,
  partAt,
  plainOf,
  RawJson,
  rawMember,
  textOf,
  UnparsedJson,
} from './raw-json.ts'

/** A JSON-RPC message, parsed. */
export interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
  /** Undefined for most results, which are parsed on demand. */
  readonly result?: unknown
  readonly error?: unknown
  /** The position of the result in the line, if it is known. */
  readonly resultAt?: ByteRange
  /** The text of the result, if the line is small and only ASCII. */
  readonly resultText?: string | undefined
}

/**
 * The result of a request as the server wrote it: digits, spaces, order and unknown fields included. It is parsed on
 * demand, because most results are only forwarded.
 */
export class CallResult {
  /** For sending it on: text if it is small and only ASCII, as most results are, else bytes. */
  readonly written: string | Buffer
  #bytes: Buffer | undefined
  #value: unknown

  /** `value`: if it has been parsed. */
  constructor(written: string | Buffer, value?: unknown) {
    this.written = written
    this.#value = value
  }

  /** A result that Toolroom writes itself. `json`: any JSON value or RawJson. */
  static of(json: unknown): CallResult {
    return new CallResult(Buffer.from(textOf(json)), plainOf(json))
  }

  /** Its size in bytes. */
  get length(): number {
    return this.written.length
  }

  get bytes(): Buffer {
    if (typeof this.written !== 'string') return this.written
    this.#bytes ??= Buffer.from(this.written, 'latin1')
    return this.#bytes
  }

  /** Undefined when the text is not JSON after all. */
  get value(): unknown {
    this.#value ??= parsed(this.written)
    return this.#value
  }

  /** The JSON itself, to read parts of it without parsing all. */
  get raw(): UnparsedJson {
    return new UnparsedJson(this.written)
  }

  /** Searches the JSON without parsing it, which finds no text that is written with escapes. */
  includes(text: string): boolean {
    return this.written.includes(text)
  }
}

/** The error in a response. */
export interface RemoteError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
  /** As the server wrote it, on one line. Undefined for an error that the server did not write like this. */
  readonly json?: string
}

/** Undefined for any text that is not a JSON-RPC message, such as a banner or debug output, and for one that is too deep. */
export function readMessage(line: Buffer): Message | undefined {
  return commonResponse(line) ?? anyMessage(line)
}

/** The id in the response that a text looks like, for a text that is not valid JSON or is incomplete. */
export function responseIdIn(line: Buffer): number | undefined {
  const head = RESPONSE_HEAD.exec(line.toString('latin1', 0, 4 * LONGEST_FRAME))
  const id = head ?? RESULT_FIRST_TAIL.exec(line.toString('latin1', Math.max(0, line.length - LONGEST_FRAME)))
  return id?.[1] === undefined ? undefined : Number(id[1])
}
const RESPONSE_HEAD =
  /^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*(\d{1,15})\s*,[^{[]*?"(?:result|error)"\s*:/

/** The result of a response. `borrowed`: the line shares memory with other lines. */
export function resultOf(message: Message, line: Buffer, borrowed: boolean): CallResult {
  const { result, resultAt, resultText } = message
  if (resultText !== undefined) return new CallResult(resultText)
  const { start, end } = resultAt ?? rawMember(line, 'result') ?? { start: 0, end: 0 }
  const bytes = line.subarray(start, end)
  return new CallResult(borrowed ? Buffer.from(bytes) : bytes, result)
}

function parsed(json: Buffer | string): unknown {
  try {
    return JSON.parse(json.toString())
  } catch {
    return undefined
  }
}

/** The `_meta` of a request; an empty object when there is none. */
export function metaOf(params: unknown): Readonly<Record<string, unknown>> {
  const meta = (params as { _meta?: Readonly<Record<string, unknown>> } | null | undefined)?._meta
  // Not `isObject`: a modern call gets here six times.
  return typeof meta === 'object' && meta !== null && !Array.isArray(meta) ? meta : {}
}

/** Undefined when the message has a result. Some libraries send `error: null` with it. `bytes`: of the message. */
export function remoteErrorOf({ result, error, resultAt }: Message, bytes: Buffer): RemoteError | undefined {
  if (resultAt) return undefined
  if (error === undefined || error === null) {
    if (result !== undefined) return undefined
    return { code: CODES.internal, message: 'The response has neither a result nor an error' }
  }
  if (isRemoteError(error)) return { ...error, json: errorText(bytes) }
  const { code, message, data } = (isObject(error) ? error : { message: error }) as Record<string, unknown>
  return {
    code: typeof code === 'number' ? code : CODES.internal,
    message: typeof message === 'string' ? message : 'The response has an error without a message',
    ...(data !== undefined && { data }),
  }
}

/** Line breaks in valid JSON are between tokens. */
function errorText(bytes: Buffer): string {
  const { start, end } = rawMember(bytes, 'error') ?? { start: 0, end: 0 }
  return bytes.toString('utf8', start, end).replaceAll(/[\r\n]+/g, '')
}

const CLOSE_BRACE = 0x7d
const SPACE = 0x20
const BACKSLASH = 0x5c
const RESULT_FIRST = '{"result":'
const RESULT_LAST_HEAD = /^\{"jsonrpc": ?"2\.0", ?"id": ?(0|[1-9]\d{0,14}), ?"result":/
const RESULT_FIRST_TAIL = /, ?"jsonrpc": ?"2\.0", ?"id": ?(0|[1-9]\d{0,14})\}$/
const LONGEST_FRAME = 64

/**
 * Reads the two layouts that nearly all responses have, with and without spaces. The text between head and tail is parsed
 * alone: if it is one JSON value, the line has no other member, and the position of the result is known.
 */
function commonResponse(line: Buffer): Message | undefined {
  const isLarge = line.length > LARGE_BYTES
  const head = line.toString(isLarge ? 'latin1' : 'utf8', 0, isLarge ? LONGEST_FRAME : line.length)
  // Decoded once: if every character is one byte, positions in the text are positions in the line.
  const text = head.length === line.length ? head : undefined
  const last = RESULT_LAST_HEAD.exec(head)
  if (last) {
    if (line[line.length - 1] !== CLOSE_BRACE) return undefined
    return responseOf(line, text, Number(last[1]), last[0].length, line.length - 1)
  }
  if (!head.startsWith(RESULT_FIRST)) return undefined
  const tail = RESULT_FIRST_TAIL.exec(line.toString('latin1', Math.max(0, line.length - LONGEST_FRAME)))
  if (!tail) return undefined
  return responseOf(line, text, Number(tail[1]), RESULT_FIRST.length, line.length - tail[0].length)
}

function responseOf(
  line: Buffer,
  text: string | undefined,
  id: number,
  start: number,
  end: number,
): Message | undefined {
  const isTight = (line[start] ?? 0) > SPACE && (line[end - 1] ?? 0) > SPACE
  const resultAt = isTight ? { start, end } : trimmed(line, { start, end })
  // The strings of a large result are not examined.
  if (line.length > LARGE_BYTES || isPlain(line, resultAt)) {
    if (invalidAt(line, resultAt) >= 0) return undefined
    return { id, resultAt, resultText: text?.slice(resultAt.start, resultAt.end) }
  }
  if (line.length > 2 * MAX_MESSAGE_DEPTH && isDeeperThan(line, MAX_MESSAGE_DEPTH)) return undefined
  try {
    const result = JSON.parse(text === undefined ? line.toString('utf8', start, end) : text.slice(start, end))
    return { id, result, resultAt }
  } catch {
    return undefined // the line has other members, or is not JSON
  }
}

/** Without escapes and control characters, every string is valid. */
function isPlain(line: Buffer, { start, end }: ByteRange): boolean {
  for (let at = start; at < end; at += 1) {
    const byte = line[at] ?? 0
    if (byte < SPACE || byte === BACKSLASH) return false
  }
  return true
}

function anyMessage(line: Buffer): Message | undefined {
  if (!/^\s*\{/.test(line.toString('latin1', 0, LONGEST_FRAME))) return undefined
  if (hasMoreValues(line, MAX_VALUES)) return largeResponse(line)
  if (line.length > 2 * MAX_MESSAGE_DEPTH && isDeeperThan(line, MAX_MESSAGE_DEPTH)) return undefined
  try {
    const { jsonrpc, id, method, params, result, error } = JSON.parse(line.toString('utf8'))
    return jsonrpc === '2.0' ? { id, method, params, result, error } : undefined
  } catch {
    return undefined
  }
}

/** Of a notification, a request or an error. Only a result may have more, because it is not parsed. */
export const MAX_VALUES = 10_000

/** A response with very many values, in any layout. Undefined if they are not those of its result. */
function largeResponse(line: Buffer): Message | undefined {
  if (invalidAt(line, { start: 0, end: line.length }) >= 0) return undefined
  const members = membersOf(line, 0, MAX_MEMBERS)
  const valueNamed = (name: string): unknown => {
    const at = memberNamed(line, members, name)
    return at < 0 ? undefined : plainOf(partAt(line, members[at + 2] ?? 0, members[at + 3] ?? 0))
  }
  const at = memberNamed(line, members, 'result')
  const isOurs = at >= 0 && members.length <= 4 * MAX_MEMBERS && memberNamed(line, members, 'method') < 0
  if (!isOurs || valueNamed('jsonrpc') !== '2.0') return undefined
  return { id: valueNamed('id'), resultAt: { start: members[at + 2] ?? 0, end: members[at + 3] ?? 0 } }
}
const MAX_MEMBERS = 100

function isRemoteError(error: unknown): error is RemoteError {
  return isObject(error) && typeof error.code === 'number' && typeof error.message === 'string'
}

/** The id of a valid message, as it was written. */
export function idText(bytes: Buffer): RawJson {
  const { start, end } = rawMember(bytes, 'id') ?? { start: 0, end: 0 }
  return new RawJson(bytes.toString('utf8', start, end), undefined)
}
