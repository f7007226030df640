import { closingQuote } from '../../kernel/json/json-checks.ts'
import { parsedOr } from './json-items.ts'

/**
 * The members of the JSON object at `from`, four positions each: start and end of the key with its quotes, start and end of
 * the value. The start of a key that has to be decoded is stored as `~start`. `json` must be valid. Searching bytes is safe:
 * no byte of a longer UTF-8 character equals a quote, a brace or a backslash. It runs for every request of an agent, so it
 * is one loop. It ends after the member that is one more than `most`.
 */
export function membersOf(json: Buffer, from: number, most = Number.POSITIVE_INFINITY): number[] {
  const members: number[] = []
  let depth = 0
  let [keyStart, keyEnd, valueStart] = [0, 0, -1]
  for (let at = from; at < json.length; at += 1) {
    const byte = json[at]
    if (byte === QUOTE) {
      const opened = at
      let isPlain = true
      for (at += 1; json[at] !== QUOTE && at < json.length; at += 1) {
        const inside = json[at] ?? 0
        if (inside !== BACKSLASH && inside < NON_ASCII && at - opened <= NEAR) continue
        isPlain = false
        if (inside === BACKSLASH) at += 1
        else if (at - opened > NEAR) at = closingQuote(json, at) - 1
      }
      if (depth === 1 && valueStart < 0) {
        keyStart = isPlain ? opened : ~opened
        keyEnd = at + 1
      }
    } else if (byte === COLON) {
      if (depth !== 1) continue
      at += 1
      while ((json[at] ?? QUOTE) <= SPACE) at += 1
      valueStart = at
      at -= 1
    } else if (byte === OPEN_BRACE || byte === OPEN_BRACKET) depth += 1
    else if (byte === COMMA || byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      if (depth === 1 && valueStart >= 0) {
        let end = at
        while ((json[end - 1] ?? QUOTE) <= SPACE) end -= 1
        members.push(keyStart, keyEnd, valueStart, end)
        if (members.length > 4 * most) return members
        valueStart = -1
      }
      if (byte !== COMMA && --depth === 0) return members
    }
  }
  return members
}

/** The index of the last member with this name in the result of `membersOf`, or -1. It is searched backwards, between two indexes. */
export function memberNamed(
  json: Buffer,
  members: readonly number[],
  name: string,
  last = members.length - 4,
  first = 0,
): number {
  search: for (let at = last; at >= first; at -= 4) {
    const start = members[at] ?? 0
    const end = members[at + 1] ?? 0
    if (start < 0) {
      if (keyOf(json, ~start, end) === name) return at
      continue
    }
    if (end - start - 2 !== name.length) continue
    for (let each = 0; each < name.length; each += 1)
      if (json[start + 1 + each] !== name.charCodeAt(each)) continue search
    return at
  }
  return -1
}

/** The decoded name of the member at this index of the result of `membersOf`. */
export function memberName(json: Buffer, members: readonly number[], at: number): string {
  return keyOf(json, startOfKey(members, at), members[at + 1] ?? 0)
}

export function startOfKey(members: readonly number[], at: number): number {
  const start = members[at] ?? 0
  return start < 0 ? ~start : start
}

/** All whitespace of JSON, and no other byte outside of a string, is at most a space. */
const SPACE = 0x20
const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [OPEN_BRACE, CLOSE_BRACE, OPEN_BRACKET, CLOSE_BRACKET] = [0x7b, 0x7d, 0x5b, 0x5d]
const NON_ASCII = 0x80
/** Within this distance a loop finds the end of a string faster than a search. */
const NEAR = 64

function keyOf(json: Buffer, start: number, end: number): string {
  const text = json.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? String(parsedOr(`"${text}"`, text)) : text
}
