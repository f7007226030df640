import { CORE_SCHEMA, defineMappingTag, loadAll, YAMLException } from 'js-yaml'
import type { Json } from '../format.ts'
import { setMember } from '../json-value.ts'
import { refusal } from '../text.ts'

const MAX_VALUES = 20_000_000

/** Names become strings, and a duplicate name is an error, as for the first parser. */
const mapTag = defineMappingTag<Record<string, Json>>('tag:yaml.org,2002:map', {
  create: () => ({}),
  addPair: (map, key, value) => {
    if (key !== null && typeof key === 'object') return 'a name must be a scalar'
    if (Object.hasOwn(map, String(key))) return 'duplicate name'
    setMember(map, String(key), value as Json)
    return ''
  },
  has: (map, key) => Object.hasOwn(map, String(key)),
  keys: (map) => Object.keys(map),
  get: (map, key) => map[String(key)],
  identify: () => false,
})
const SCHEMA = CORE_SCHEMA.withTags(mapTag)

/** Reads with js-yaml, which shares no code with `parse`. */
export function readWithJsYaml(text: string): Json | undefined {
  const documents = load(text)
  if (documents.length > 1) throw refusal(text, 0, 'The file has several YAML documents. Only one is allowed')
  const json = documents[0] ?? undefined
  if (json === undefined) return undefined
  if (typeof json !== 'object' || Array.isArray(json)) {
    throw refusal(text, 0, 'The top of this file must be a map')
  }
  if (countOf(json as Json, new Map()) > Math.min(MAX_VALUES, text.length + 100_000)) {
    throw refusal(text, 0, 'The aliases in this file expand to too many values')
  }
  return json as Json
}

function load(text: string): unknown[] {
  try {
    return loadAll(text, { schema: SCHEMA })
  } catch (cause) {
    const offset = cause instanceof YAMLException ? (cause.mark?.position ?? 0) : 0
    throw refusal(text, offset, 'A second YAML parser cannot read this. Check quotes and indentation')
  }
}

/** The number of values with all aliases expanded; infinite if a value contains itself. */
function countOf(value: Json, known: Map<object, number>): number {
  if (value === null || typeof value !== 'object') return 1
  const counted = known.get(value)
  if (counted !== undefined) return counted
  known.set(value, Number.POSITIVE_INFINITY)
  let count = 1
  for (const inner of Object.values(value)) count += countOf(inner, known)
  known.set(value, count)
  return count
}
