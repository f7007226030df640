import { isObject } from '../kernel/is-object.ts'
import { type ByteRange, isOneValue, rawMember, trimmed } from './raw-member.ts'

/** A JSON-RPC message, parsed. */
export interface Message {
  readonly id?: unknown
  readonly method?: unknown
  readonly params?: unknown
  /** Not read yet where it is large; `resultAt` says where it stands. */
  readonly result?: unknown
  readonly error?: unknown
  /** Where the result stands in the line, when reading it has shown that already. */
  readonly resultAt?: ByteRange
}

/** An error as the other side sent it. */
export interface RemoteError {
  readonly code: number
  readonly message: string
  readonly data?: unknown
}

/** Undefined for everything that is no JSON-RPC message: banners, debug output, half a line. */
export function readMessage(line: Buffer): Message | undefined {
  return usualAnswer(line) ?? anyMessage(line)
}

/** The result as it was written. Shares memory with the line. */
export function resultBytes(line: Buffer, { resultAt }: Message): Buffer {
  const { start, end } = resultAt ?? rawMember(line, 'result') ?? { start: 0, end: 0 }
  return line.subarray(start, end)
}

/** The `_meta` of a request; an empty object when there is none. */
export function metaOf(params: unknown): Readonly<Record<string, unknown>> {
  const meta = (params as { _meta?: unknown } | null | undefined)?._meta
  return isObject(meta) ? meta : {}
}

/** Undefined when the message is a result. Some libraries send `error: null` beside one. */
export function remoteErrorOf({ result, error, resultAt }: Message): RemoteError | undefined {
  if (resultAt) return undefined
  if (error === undefined || error === null) {
    if (result !== undefined) return undefined
    return { code: INTERNAL_ERROR, message: 'It answered with neither a result nor an error' }
  }
  if (isRemoteError(error)) return error
  const { code, message, data } = (isObject(error) ? error : { message: error }) as Record<string, unknown>
  return {
    code: typeof code === 'number' ? code : INTERNAL_ERROR,
    message: typeof message === 'string' ? message : 'It answered with an error that says nothing',
    ...(data !== undefined && { data }),
  }
}

const INTERNAL_ERROR = -32_603
const CLOSE_BRACE = 0x7d
const SPACE = 0x20
const RESULT_FIRST = '{"result":'
const RESULT_LAST_HEAD = /^\{"jsonrpc": ?"2\.0", ?"id": ?(0|[1-9]\d{0,14}), ?"result":/
const RESULT_FIRST_TAIL = /, ?"jsonrpc": ?"2\.0", ?"id": ?(0|[1-9]\d{0,14})\}$/
const LONGEST_FRAME = 64
/** Beyond this it is cheaper to hand a result on than to read it, and mostly nobody looks into it. */
const LARGE_BYTES = 16 * 1024

/**
 * The two spellings in which nearly all answers come, with and without spaces. What stands between head and tail is
 * parsed alone: when that is one JSON value then the line has no other member, so its place needs no search.
 */
function usualAnswer(line: Buffer): Message | undefined {
  const head = line.toString('latin1', 0, LONGEST_FRAME)
  const last = RESULT_LAST_HEAD.exec(head)
  if (last) {
    if (line.at(-1) !== CLOSE_BRACE) return undefined
    return answerOf(line, Number(last[1]), { start: last[0].length, end: line.length - 1 })
  }
  if (!head.startsWith(RESULT_FIRST)) return undefined
  const tail = RESULT_FIRST_TAIL.exec(line.toString('latin1', Math.max(0, line.length - LONGEST_FRAME)))
  if (!tail) return undefined
  return answerOf(line, Number(tail[1]), { start: RESULT_FIRST.length, end: line.length - tail[0].length })
}

function answerOf(line: Buffer, id: number, at: ByteRange): Message | undefined {
  const isTight = (line[at.start] ?? 0) > SPACE && (line[at.end - 1] ?? 0) > SPACE
  const resultAt = isTight ? at : trimmed(line, at)
  if (at.end - at.start > LARGE_BYTES) return isOneValue(line, resultAt) ? { id, resultAt } : undefined
  try {
    return { id, result: JSON.parse(line.toString('utf8', at.start, at.end)), resultAt }
  } catch {
    return undefined // there is more in the line than head, value and tail, or it is no JSON at all
  }
}

function anyMessage(line: Buffer): Message | undefined {
  if (!/^\s*\{/.test(line.toString('latin1', 0, LONGEST_FRAME))) return undefined
  try {
    const { jsonrpc, id, method, params, result, error } = JSON.parse(line.toString('utf8'))
    return jsonrpc === '2.0' ? { id, method, params, result, error } : undefined
  } catch {
    return undefined
  }
}

function isRemoteError(error: unknown): error is RemoteError {
  return isObject(error) && typeof error.code === 'number' && typeof error.message === 'string'
}
