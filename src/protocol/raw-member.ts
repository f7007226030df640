import { closingQuote } from '../kernel/json-depth.ts'

export interface ByteRange {
  readonly start: number
  readonly end: number
}

/**
 * The position of the value of a top-level member, without surrounding whitespace. `json` must be a valid JSON object. Of
 * several members with the same name the last one counts, as in JSON.parse. Searching bytes is safe: no byte of a longer
 * UTF-8 character equals a quote, a brace or a backslash.
 */
export function rawMember(json: Buffer, name: string): ByteRange | undefined {
  let found: ByteRange | undefined
  let at = afterSpace(json, afterSpace(json, 0) + 1)
  while (json[at] === QUOTE) {
    const colon = stringEnd(json, at)
    const isMember = keyOf(json, at, colon) === name
    const start = afterSpace(json, afterSpace(json, colon) + 1)
    const end = valueEnd(json, start)
    if (isMember) found = { start, end }
    const comma = afterSpace(json, end)
    at = afterSpace(json, comma + 1)
  }
  return found
}

/** The positions of the elements of an array, without surrounding whitespace. `json` must be a valid JSON array. */
export function rawElements(json: Buffer): ByteRange[] {
  const found: ByteRange[] = []
  let start = afterSpace(json, afterSpace(json, 0) + 1)
  while (start < json.length && json[start] !== CLOSE_BRACKET) {
    const end = valueEnd(json, start)
    found.push({ start, end })
    start = afterSpace(json, afterSpace(json, end) + 1)
  }
  return found
}

/** Whether the range contains exactly one value, judged by quotes and braces. */
export function isOneValue(json: Buffer, { start, end }: ByteRange): boolean {
  return start < end && valueEnd(json, start) === end
}

/** The range without whitespace at both ends. */
export function trimmed(json: Buffer, { start, end }: ByteRange): ByteRange {
  let last = end
  while (last > start && isSpace(json[last - 1])) last -= 1
  return { start: Math.min(afterSpace(json, start), last), end: last }
}

const QUOTE = 0x22
const COMMA = 0x2c
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]

function keyOf(json: Buffer, start: number, end: number): string {
  const text = json.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? JSON.parse(`"${text}"`) : text
}

function valueEnd(json: Buffer, start: number): number {
  if (json[start] === QUOTE) return stringEnd(json, start)
  if (json[start] === OPEN_BRACE || json[start] === OPEN_BRACKET) return nestedEnd(json, start)
  let at = start
  while (at < json.length && !isScalarEnd(json[at])) at += 1
  return at
}

function isScalarEnd(byte: number | undefined): boolean {
  return byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET || isSpace(byte)
}

function nestedEnd(json: Buffer, start: number): number {
  let depth = 0
  let at = start
  while (at < json.length) {
    const byte = json[at]
    at = byte === QUOTE ? stringEnd(json, at) : at + 1
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if ((byte === CLOSE_BRACE || byte === CLOSE_BRACKET) && --depth === 0) return at
  }
  return at
}

function stringEnd(json: Buffer, start: number): number {
  return Math.min(closingQuote(json, start + 1) + 1, json.length)
}

function afterSpace(json: Buffer, start: number): number {
  let at = start
  while (isSpace(json[at])) at += 1
  return at
}

function isSpace(byte: number | undefined): boolean {
  return byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d
}
