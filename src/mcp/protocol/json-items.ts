import { type ByteRange, closingQuote } from '../../kernel/json/json-checks.ts'

/**
 * The items of the JSON array at `from`, without surrounding whitespace. `json` must be valid. The list ends with the item that
 * is one more than `most`.
 */
export function itemsOf(json: Buffer, from: number, most = Number.POSITIVE_INFINITY): ByteRange[] {
  const items: ByteRange[] = []
  let depth = 0
  let start = from
  for (let at = from; at < json.length; at += 1) {
    const byte = json[at]
    if (byte === QUOTE) at = closingQuote(json, at + 1)
    else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) {
      depth += 1
      if (depth === 1) start = at + 1
    } else if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 1) {
        const item = trimmed(json, { start, end: at })
        if (item.start < item.end) items.push(item)
        if (items.length > most) return items
        start = at + 1
      }
      if (byte !== COMMA && --depth === 0) return items
    }
  }
  return items
}

/** The range without whitespace at both ends. */
export function trimmed(json: Buffer, range: ByteRange): ByteRange {
  let { start, end } = range
  while (end > start && (json[end - 1] ?? QUOTE) <= SPACE) end -= 1
  while (start < end && (json[start] ?? QUOTE) <= SPACE) start += 1
  return { start, end }
}

/** All whitespace of JSON, and no other byte outside of a string, is at most a space. */
const SPACE = 0x20
const [QUOTE, COMMA] = [0x22, 0x2c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]

/** The strings of a large result are not examined, so that they may be invalid. */
export function parsedOr(json: string, otherwise: unknown): unknown {
  try {
    return JSON.parse(json)
  } catch {
    return otherwise
  }
}
