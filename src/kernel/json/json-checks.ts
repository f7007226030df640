/** The deepest nesting of a request. What a user or an agent sends is never deeper in practice. */
export const MAX_REQUEST_DEPTH = 64
/** The deepest nesting of a message of a server. JSON.stringify and our own recursive functions can process it. */
export const MAX_MESSAGE_DEPTH = 1000

/** True for a JSON object: not an array, not null. */
export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** A part of some bytes. `end` is the position after its last byte. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
/** Within this distance a loop finds the end of a string faster than a search. */
const NEAR = 32

/**
 * Whether JSON is nested deeper than `max` levels. One pass over the bytes: JSON.parse takes seconds for millions of levels,
 * and recursive code overflows the stack. Short strings are scanned here, because this runs for every request of an agent.
 */
export function isDeeperThan(json: Buffer, max: number): boolean {
  if (json.length <= 2 * max) return false // every level needs two brackets
  let depth = 0
  let openedAt = -1 // the quote of the current string
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]
    if (openedAt >= 0) {
      if (byte === BACKSLASH) at += 1
      else if (byte === QUOTE) openedAt = -1
      else if (at - openedAt > NEAR) {
        at = closingQuote(json, at)
        openedAt = -1
      }
    } else if (byte === QUOTE) openedAt = at
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1
      if (depth > max) return true
    } else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) depth -= 1
  }
  return false
}

/**
 * The position of the quote that ends a string, or the length of the bytes. `from`: a position in the string that is not
 * escaped. Jumps over long text, and stays linear for text that consists of escaped quotes.
 */
export function closingQuote(json: Buffer, from: number): number {
  let searchAt = from + NEAR
  for (let at = from; at < json.length; at += 1) {
    const byte = json[at]
    if (byte === BACKSLASH) at += 1
    else if (byte === QUOTE) return at
    else if (at > searchAt) {
      const quote = json.indexOf(QUOTE, at)
      if (quote < 0) return json.length
      searchAt = quote + NEAR
      at = quote - 1
      while (json[at] === BACKSLASH) at -= 1 // they decide whether the quote is escaped
    }
  }
  return json.length
}

/**
 * Whether JSON has more than `max` values, keys not counted: a few bytes of text become a hundred bytes of objects. One pass
 * over the bytes, which ends at the limit.
 */
export function hasMoreValues(json: Buffer, max: number): boolean {
  if (json.length <= max) return false // every value has a byte of its own
  let values = 1
  for (let at = 0; at < json.length; at += 1) {
    const byte = json[at]
    if (byte === QUOTE) at = closingQuote(json, at + 1)
    else if (byte === COMMA || byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      values += 1
      if (values > max) return true
    }
  }
  return false
}

/**
 * Where the range stops being one JSON value of at most 1,000 levels: the position of the first byte that does not fit, or
 * -1. One pass over the bytes, without a value: a large message is only forwarded, and parsing it costs several times as
 * much. Without `strings`, the inside of strings is not examined.
 */
export function invalidAt(json: Buffer, { start, end }: ByteRange, strings = false): number {
  let depth = 0
  let expected = VALUE
  let at = start
  while (at < end) {
    const byte = json[at] ?? 0
    if (byte === 0x20 || byte === 0x09 || byte === 0x0a || byte === 0x0d) {
      at += 1
      continue
    }
    if (expected >= AFTER) {
      const isObject = CONTAINERS[depth] === OBJECT
      if (expected === COLON_AFTER) {
        if (byte !== COLON) return at
        expected = VALUE
      } else if (depth === 0) return at
      else if (byte === COMMA) expected = isObject ? KEY : VALUE
      else if (byte === (isObject ? CLOSE_BRACE : CLOSE_BRACKET)) depth -= 1
      else return at
      at += 1
      continue
    }
    if (byte === QUOTE) {
      const quote = strings ? validStringEnd(json, at + 1) : closingQuote(json, at + 1)
      if (quote < 0 || quote >= end) return at
      at = quote + 1
      expected = expected <= KEY_OR_CLOSE ? COLON_AFTER : AFTER
    } else if (expected <= KEY_OR_CLOSE) {
      if (byte !== CLOSE_BRACE || expected === KEY) return at
      depth -= 1
      expected = AFTER
      at += 1
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      if (depth === MAX_MESSAGE_DEPTH) return at
      depth += 1
      CONTAINERS[depth] = byte === OPEN_BRACE ? OBJECT : ARRAY
      expected = byte === OPEN_BRACE ? KEY_OR_CLOSE : VALUE_OR_CLOSE
      at += 1
    } else if (byte === CLOSE_BRACKET && expected === VALUE_OR_CLOSE) {
      depth -= 1
      expected = AFTER
      at += 1
    } else {
      const next = scalarEnd(json, at)
      if (next < 0 || next > end) return at
      at = next
      expected = AFTER
    }
  }
  return depth === 0 && expected === AFTER ? -1 : end
}

/** What may come next. */
const [KEY, KEY_OR_CLOSE, VALUE, VALUE_OR_CLOSE, AFTER, COLON_AFTER] = [0, 1, 2, 3, 4, 5]
const [ARRAY, OBJECT] = [1, 2]
/** The open containers, by depth. Shared, because no call is interrupted. */
const CONTAINERS = new Uint8Array(MAX_MESSAGE_DEPTH + 1)
const [MINUS, PLUS, POINT] = [0x2d, 0x2b, 0x2e]
const [ZERO, NINE, E] = [0x30, 0x39, 0x65]
const LITERALS: readonly Buffer[] = ['true', 'false', 'null'].map((text) => Buffer.from(text))

/** The end of the number, or of `true`, `false` or `null`. -1 when there is none. */
function scalarEnd(json: Buffer, start: number): number {
  const first = json[start] ?? 0
  if (first !== MINUS && !isDigit(first)) {
    const literal = LITERALS.find((each) => each[0] === first)
    if (!literal) return -1
    for (let each = 1; each < literal.length; each += 1) if (json[start + each] !== literal[each]) return -1
    return start + literal.length
  }
  let at = first === MINUS ? start + 1 : start
  const digits = at
  while (isDigit(json[at])) at += 1
  if (at === digits || (json[digits] === ZERO && at > digits + 1)) return -1
  if (json[at] === POINT) {
    at += 1
    if (!isDigit(json[at])) return -1
    while (isDigit(json[at])) at += 1
  }
  if (((json[at] ?? 0) | 0x20) === E) {
    at += 1
    if (json[at] === PLUS || json[at] === MINUS) at += 1
    if (!isDigit(json[at])) return -1
    while (isDigit(json[at])) at += 1
  }
  return at
}

/** The position of the quote that ends a string, or -1 when its text is not valid. */
function validStringEnd(json: Buffer, from: number): number {
  for (let at = from; at < json.length; at += 1) {
    const byte = json[at] ?? 0
    if (byte === QUOTE) return at
    if (byte < SPACE) return -1
    if (byte !== BACKSLASH) continue
    at += 1
    if (json[at] !== U) {
      if (!ESCAPED.includes(json[at] ?? 0)) return -1
      continue
    }
    for (const last = at + 4; at < last; ) {
      at += 1
      if (!isHex(json[at] ?? 0)) return -1
    }
  }
  return -1
}
const SPACE = 0x20
const U = 0x75
/** What may follow a backslash, beside a `u`. */
const ESCAPED = Buffer.from('"\\/bfnrt')
const isHex = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66)

const isDigit = (byte: number | undefined): boolean => byte !== undefined && byte >= ZERO && byte <= NINE
