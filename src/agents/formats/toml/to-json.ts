import type { Json, Path, Step } from '../format.ts'
import type { Member, Table, Value } from './model.ts'

export function tableJson(table: Table): Json {
  const json = {}
  for (const [name, member] of table.members) setMember(json, name, memberJson(member))
  return json
}

export function memberJson(member: Member): Json {
  if (member.type === 'table') return tableJson(member)
  if (member.type === 'tables') return member.items.map(tableJson)
  return valueJson(member.value)
}

export function valueJson(value: Value): Json {
  if (value.kind === 'inline') return tableJson(value.table)
  return value.kind === 'list' ? value.items.map(valueJson) : value.json
}

export type JsonMap = Readonly<Record<string, Json>>

/** A file may hold the name `__proto__`: it becomes a member like any other, and reaches nothing. */
export function setMember(map: Record<string, Json>, name: string, value: Json): void {
  if (name !== '__proto__') map[name] = value
  else Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true })
}

export function isMap(json: Json | undefined): json is JsonMap {
  return typeof json === 'object' && json !== null && !Array.isArray(json)
}

/** The order of names does not matter, and NaN is NaN. */
export function sameJson(a: Json | undefined, b: Json | undefined): boolean {
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, index) => sameJson(item, b[index]))
  }
  if (!isMap(a) || !isMap(b)) return a === b || (Number.isNaN(a) && Number.isNaN(b))
  const names = Object.keys(a)
  return (
    names.length === Object.keys(b).length &&
    names.every((name) => Object.hasOwn(b, name) && sameJson(a[name], b[name]))
  )
}

/** As `sameJson(tableJson(table), json)`, without a copy of a large file. */
export function tableSays(table: Table, json: Json | undefined): boolean {
  if (!isMap(json) || Object.keys(json).length !== table.members.size) return false
  for (const [name, member] of table.members) {
    if (!Object.hasOwn(json, name) || !memberSays(member, json[name])) return false
  }
  return true
}

function memberSays(member: Member, json: Json | undefined): boolean {
  if (member.type === 'table') return tableSays(member, json)
  if (member.type === 'pair') return sameJson(valueJson(member.value), json)
  const { items } = member
  return (
    Array.isArray(json) &&
    json.length === items.length &&
    items.every((item, at) => tableSays(item, json[at]))
  )
}

/** The map with the one value set, as it must be read after the edit. */
export function withValue(json: Json | undefined, path: Path, value: Json): Json {
  const [step, ...rest] = path
  if (step === undefined) return value
  if (typeof step === 'string') {
    const map = copyOf(json)
    setMember(map, step, withValue(Object.hasOwn(map, step) ? map[step] : undefined, rest, value))
    return map
  }
  const list = Array.isArray(json) ? [...json] : []
  const index = list.findIndex((item) => isThis(step, item))
  const item = 'item' in step ? step.item : withField(step, withValue(list[index], rest, value))
  list.splice(index === -1 ? list.length : index, index === -1 ? 0 : 1, item)
  return list
}

/** The map without the value at the path, which is there. */
export function withoutValue(json: Json | undefined, path: Path): Json {
  const [step, ...rest] = path
  if (Array.isArray(json)) {
    const isIt = (item: Json) => step !== undefined && typeof step !== 'string' && isThis(step, item)
    if (rest.length === 0) return json.filter((item) => !isIt(item))
    return json.map((item) => (isIt(item) ? withoutValue(item, rest) : item))
  }
  const map = copyOf(json)
  if (typeof step !== 'string') return map
  if (rest.length === 0) delete map[step]
  else setMember(map, step, withoutValue(map[step], rest))
  return map
}

/** Of a map; an empty one of anything else. */
function copyOf(json: Json | undefined): Record<string, Json> {
  const copy = {}
  if (isMap(json)) for (const [name, value] of Object.entries(json)) setMember(copy, name, value)
  return copy
}

/** The entry of a list with the field that tells it from the others, which stands first. */
export function withField({ field, is }: { field: string; is: string }, json: Json): Json {
  return isMap(json) ? { [field]: is, ...json } : json
}

export function isThis(step: Exclude<Step, string>, item: Json): boolean {
  if ('item' in step) return item === step.item
  return isMap(item) && Object.hasOwn(item, step.field) && item[step.field] === step.is
}

/** What a value must be wrapped in, when the maps and lists on the way to it are not there yet. */
export function wrapped(steps: Path, value: Json): Json {
  return steps.reduceRight<Json>((inner, step) => {
    if (typeof step === 'string') return named(step, inner)
    return 'item' in step ? [step.item] : [withField(step, inner)]
  }, value)
}

export function named(name: string, value: Json): Record<string, Json> {
  return { [name]: value }
}
