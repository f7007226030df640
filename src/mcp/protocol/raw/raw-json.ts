import { isObject } from '../../../kernel/is-object.ts'
import { itemsOf, keyStart, memberName, memberNamed, membersOf } from './raw-member.ts'

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

  /** Inside of other JSON only the value is kept. Use `withMembers` to keep the text. */
  toJSON(): unknown {
    return this.value
  }
}

/** From this size on, decoding and encoding costs more than a write of its own. */
export const LARGE_BYTES = 8 * 1024

/** A part of valid JSON without line breaks. `text`: the same, decoded, if every character is one byte. */
export function rawAt(json: Buffer, start: number, end: number, value: unknown, text?: string): RawJson {
  if (end - start >= LARGE_BYTES) return new RawJson(json.subarray(start, end), value)
  return new RawJson(text === undefined ? json.toString('utf8', start, end) : text.slice(start, end), value)
}

/** The value itself, of RawJson and of any other JSON. */
export const plainOf = (json: unknown): unknown => (json instanceof RawJson ? json.value : json)

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

/** A member of an object, as it was written. */
export function memberOf(object: unknown, name: string): unknown {
  const value = plainOf(object)
  if (!isObject(value) || !Object.hasOwn(value, name)) return undefined
  if (!(object instanceof RawJson)) return value[name]
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
  const value = plainOf(object)
  const before = isObject(value) ? value : {}
  if (!(object instanceof RawJson) && !Object.values(changes).some((each) => each instanceof RawJson))
    return { ...before, ...changes }
  const bytes = bytesOf(isObject(value) ? jsonOf(object) : '{}')
  const members = membersOf(bytes, 0)
  const parts: (string | Buffer)[] = []
  const added = new Map(Object.entries(changes))
  let end = 1 // of the member before, which is followed by a comma and spaces
  for (let at = 0; at < members.length; at += 4) {
    const name = memberName(bytes, members, at)
    const isKept = !Object.hasOwn(changes, name)
    const change = added.get(name)
    const start = keyStart(members, at)
    if (isKept || change !== undefined)
      parts.push(parts.length > 0 || at === 0 ? bytes.subarray(end, start) : '')
    end = members[at + 3] ?? 0
    if (isKept) parts.push(bytes.subarray(start, end))
    else if (change !== undefined)
      parts.push(JSON.stringify(name), bytes.subarray(members[at + 1], members[at + 2]), jsonOf(change))
    added.delete(name)
  }
  for (const [name, change] of added)
    if (change !== undefined)
      parts.push(`${parts.length > 0 ? ',' : ''}${JSON.stringify(name)}:`, jsonOf(change))
  const values = Object.entries(changes).map(([name, change]) => [name, plainOf(change)])
  const json = joined(['{', ...parts, bytes.subarray(end)])
  return new RawJson(json, { ...before, ...Object.fromEntries(values) })
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
  const isLarge = parts.reduce((sum, { length }) => sum + length, 0) >= LARGE_BYTES
  return isLarge ? Buffer.concat(parts.map(bytesOf)) : parts.join('')
}
