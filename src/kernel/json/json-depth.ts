/** The deepest nesting of a request. What a user or an agent sends is never deeper in practice. */
export const MAX_REQUEST_DEPTH = 64
/** The deepest nesting of a message of a server. JSON.stringify and our own recursive functions can process it. */
export const MAX_MESSAGE_DEPTH = 1000

const [QUOTE, BACKSLASH, OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [
  0x22, 0x5c, 0x7b, 0x7d, 0x5b, 0x5d,
]
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
