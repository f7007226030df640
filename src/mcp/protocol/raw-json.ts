import { type ByteRange, closingQuote, isObject } from '../../kernel/json/json-checks.ts'
import { itemsOf, parsedOr } from './json-items.ts'

/**
 * JSON as its sender wrote it, and its value. Digits, escapes, the order of keys and unknown members survive, which
 * JSON.parse and JSON.stringify would change.
 */
export class RawJson {
  /** On one line. Bytes when it is large, so that it is not decoded. */
  declare readonly json: string | Buffer
  declare readonly value: unknown

  constructor(json: string | Buffer, value: unknown) {
    this.json = json
    this.value = value
  }

  /** Whether the value is there already. */
  get isParsed(): boolean {
    return true
  }

  /** Inside of other JSON only the value is kept. Use `withMembers` to keep the text. */
  toJSON(): unknown {
    return this.value
  }
}

/** JSON that is parsed each time its value is read: it is usually only forwarded, and objects take far more memory. */
export class UnparsedJson extends RawJson {
  constructor(json: string | Buffer) {
    super(json, undefined)
    Object.defineProperty(this, 'value', { get: () => parsedOr(String(json), undefined) })
  }

  override get isParsed(): boolean {
    return false
  }
}

/** Larger JSON stays bytes: decoding, copying or examining it costs more than a write of its own. */
export const LARGE_BYTES = 16 * 1024

/** A part of valid JSON without line breaks. `text`: the same, decoded, if every character is one byte. */
export function rawAt(json: Buffer, start: number, end: number, value: unknown, text?: string): RawJson {
  if (end - start > LARGE_BYTES) return new RawJson(json.subarray(start, end), value)
  return new RawJson(text === undefined ? json.toString('utf8', start, end) : text.slice(start, end), value)
}

/** The value itself, of RawJson and of any other JSON. */
export const plainOf = (json: unknown): unknown => (json instanceof RawJson ? json.value : json)

/** Whether it is an object, without parsing it. */
export const isObjectJson = (json: unknown): boolean =>
  json instanceof UnparsedJson ? bytesOf(json.json)[0] === OPEN_BRACE : isObject(plainOf(json))

const parsedOf = (json: unknown): unknown => (json instanceof UnparsedJson ? json : plainOf(json))

/** The text of RawJson and of any other JSON. */
const jsonOf = (json: unknown): string | Buffer =>
  json instanceof RawJson ? json.json : (JSON.stringify(json) ?? 'null')

/** The same, decoded. */
export const textOf = (json: unknown): string => String(jsonOf(json))

/** Its size. */
export function bytesIn(json: unknown): number {
  const text = jsonOf(json)
  return typeof text === 'string' ? Buffer.byteLength(text) : text.length
}

/** The same, parsed if it is small. */
export function partAt(json: Buffer, start: number, end: number): RawJson {
  if (end - start > SMALL_BYTES) return new UnparsedJson(rawAt(json, start, end, undefined).json)
  const text = json.toString('utf8', start, end)
  return new RawJson(text, parsedOr(text, undefined))
}
/** The objects of JSON up to this size take little memory. */
const SMALL_BYTES = 2048

/** A member of an object, as it was written. */
export function memberOf(object: unknown, name: string): unknown {
  if (object instanceof UnparsedJson) {
    const bytes = bytesOf(object.json)
    const at = bytes[0] === OPEN_BRACE ? rawMember(bytes, name) : undefined
    return at && partAt(bytes, at.start, at.end)
  }
  const value = plainOf(object)
  if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
  if (!(object instanceof RawJson) || value[name] instanceof RawJson) return value[name]
  const bytes = bytesOf(object.json)
  const members = membersOf(bytes, 0)
  const at = memberNamed(bytes, members, name)
  return at < 0 ? undefined : rawAt(bytes, members[at + 2] ?? 0, members[at + 3] ?? 0, value[name])
}

/**
 * The object with some members replaced, added or, where undefined, removed. All other members keep their bytes and their
 * order. A replaced name that occurs several times occurs once afterwards, so that every parser reads the new value.
 * Anything but an object counts as an empty one.
 */
export function withMembers(object: unknown, changes: Readonly<Record<string, unknown>>): unknown {
  const isUnparsed = object instanceof UnparsedJson
  const value = isUnparsed ? undefined : plainOf(object)
  const before = isObject(value) ? value : {}
  if (!(object instanceof RawJson) && !Object.values(changes).some((each) => each instanceof RawJson))
    return { ...before, ...changes }
  const changed = changedMembers(bytesOf(isObjectJson(object) ? jsonOf(object) : '{}'), changes)
  if (isUnparsed) return new UnparsedJson(changed)
  const values = Object.entries(changes).map(([name, change]) => [name, parsedOf(change)])
  return new RawJson(changed, { ...before, ...Object.fromEntries(values) })
}

/** Members that do not change are copied together, as one slice of the bytes. */
function changedMembers(json: Buffer, changes: Readonly<Record<string, unknown>>): string | Buffer {
  const members = membersOf(json, 0)
  const names = Object.keys(changes)
  const added = new Map(Object.entries(changes))
  const parts: (string | Buffer)[] = ['{']
  let isFirst = true
  let copyFrom = 1
  let end = 1 // of the member before, which is followed by a comma and spaces
  for (let at = 0; at < members.length; at += 4) {
    const start = startOfKey(members, at)
    const separator = isFirst && at > 0 ? start : end
    const name = names.find((each) => memberNamed(json, members, each, at, at) === at)
    if (name === undefined) {
      if (isFirst) copyFrom = separator
      isFirst = false
      end = members[at + 3] ?? 0
      continue
    }
    const change = added.get(name)
    added.delete(name)
    if (!isFirst) parts.push(json.subarray(copyFrom, end))
    if (change !== undefined) {
      parts.push(json.subarray(separator, start), JSON.stringify(name))
      parts.push(json.subarray(members[at + 1], members[at + 2]), jsonOf(change))
      isFirst = false
    }
    end = members[at + 3] ?? 0
    copyFrom = end
  }
  if (!isFirst) parts.push(json.subarray(copyFrom, end))
  for (const [name, change] of added) {
    if (change === undefined) continue
    parts.push(`${isFirst ? '' : ','}${JSON.stringify(name)}:`, jsonOf(change))
    isFirst = false
  }
  parts.push(json.subarray(end))
  return joined(parts)
}

/** The JSON of `after`, with the bytes of `json` wherever both have the same value, compared by identity. */
export function rewritten(json: RawJson, after: unknown): RawJson {
  const { value: before } = json
  if (before === after) return json
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length) {
    const bytes = bytesOf(json.json)
    const items = itemsOf(bytes, 0).map(({ start, end }, at) => {
      const item = rewritten(rawAt(bytes, start, end, before[at]), after[at])
      return [at === 0 ? '[' : ',', item.json]
    })
    return new RawJson(joined([...items.flat(), ']']), after)
  }
  if (!isObject(before) || !isObject(after)) return new RawJson(JSON.stringify(after), after)
  const changed = Object.keys(after).filter((name) => after[name] !== before[name])
  const changes = changed.map((name) => {
    const member = memberOf(json, name)
    return [name, member instanceof RawJson ? rewritten(member, after[name]) : after[name]]
  })
  return withMembers(json, Object.fromEntries(changes)) as RawJson
}

/** The params of a request with more members in their `_meta`. */
export function withMeta(params: unknown, members: Readonly<Record<string, unknown>>): unknown {
  return withMembers(params, { _meta: withMembers(memberOf(params, '_meta'), members) })
}

const bytesOf = (json: string | Buffer): Buffer => (typeof json === 'string' ? Buffer.from(json) : json)

function joined(parts: readonly (string | Buffer)[]): string | Buffer {
  const isLarge = parts.reduce((sum, { length }) => sum + length, 0) > LARGE_BYTES
  return isLarge ? Buffer.concat(parts.map(bytesOf)) : parts.join('')
}

/**
 * The position of the value of a top-level member, without surrounding whitespace. `json` must be valid and have an object
 * at `from`. Of several members with the same name the last one counts, as in JSON.parse.
 */
export function rawMember(json: Buffer, name: string, from = 0): ByteRange | undefined {
  const members = membersOf(json, from)
  const at = memberNamed(json, members, name)
  return at < 0 ? undefined : { start: members[at + 2] ?? 0, end: members[at + 3] ?? 0 }
}

/** Some members of an object, as they were written, in one pass. Those that it lacks are undefined. */
export function membersWith<N extends string>(
  object: unknown,
  names: readonly N[],
): Partial<Record<N, unknown>> {
  const found: Partial<Record<N, unknown>> = {}
  if (!(object instanceof UnparsedJson)) {
    for (const name of names) found[name] = memberOf(object, name)
    return found
  }
  const bytes = bytesOf(object.json)
  if (bytes[0] !== OPEN_BRACE) return found
  const members = membersOf(bytes, 0)
  for (let at = 0; at < members.length; at += 4) {
    const isEscaped = (members[at] ?? 0) < 0
    const decoded = isEscaped ? memberName(bytes, members, at) : undefined
    const name = isEscaped
      ? names.find((each) => each === decoded)
      : names.find((each) => memberNamed(bytes, members, each, at, at) === at)
    if (name !== undefined) found[name] = partAt(bytes, members[at + 2] ?? 0, members[at + 3] ?? 0)
  }
  return found
}

/** The first items of a list, as they were written. Empty for any other JSON. */
export function itemsIn(list: unknown, most: number): RawJson[] {
  const bytes = list instanceof RawJson ? bytesOf(list.json) : Buffer.from(JSON.stringify(list) ?? 'null')
  if (bytes[0] !== OPEN_BRACKET) return []
  return itemsOf(bytes, 0, most)
    .slice(0, most)
    .map(({ start, end }) => partAt(bytes, start, end))
}

const [OPEN_BRACE, OPEN_BRACKET] = [0x7b, 0x5b]

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

function startOfKey(members: readonly number[], at: number): number {
  const start = members[at] ?? 0
  return start < 0 ? ~start : start
}

/** All whitespace of JSON, and no other byte outside of a string, is at most a space. */
const SPACE = 0x20
const [QUOTE, BACKSLASH, COLON, COMMA] = [0x22, 0x5c, 0x3a, 0x2c]
const [CLOSE_BRACE, CLOSE_BRACKET] = [0x7d, 0x5d]
const NON_ASCII = 0x80
/** Within this distance a loop finds the end of a string faster than a search. */
const NEAR = 64

function keyOf(json: Buffer, start: number, end: number): string {
  const text = json.toString('utf8', start + 1, end - 1)
  return text.includes('\\') ? String(parsedOr(`"${text}"`, text)) : text
}
