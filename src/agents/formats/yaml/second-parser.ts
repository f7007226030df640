import { CORE_SCHEMA, defineMappingTag, loadAll, YAMLException } from 'js-yaml'
import type { Json } from '../format.ts'
import { refuse } from './lines.ts'
import { put } from './parse.ts'

const MAX_VALUES = 20_000_000

/** Names become texts, and a name that stands there twice is an error, as for the first parser. */
const mapTag = defineMappingTag<Record<string, Json>>('tag:yaml.org,2002:map', {
  create: () => ({}),
  addPair: (map, key, value) => {
    if (key !== null && typeof key === 'object') return 'a name must be a simple text'
    if (Object.hasOwn(map, String(key))) return 'a name stands twice'
    put(map, String(key), value as Json)
    return ''
  },
  has: (map, key) => Object.hasOwn(map, String(key)),
  keys: (map) => Object.keys(map),
  get: (map, key) => map[String(key)],
  identify: () => false,
})
const SCHEMA = CORE_SCHEMA.withTags(mapTag)

/** The same as `parse`, by a parser that shares no code with it. */
export function readWithOtherParser(text: string): Json | undefined {
  const documents = load(text)
  if (documents.length > 1) refuse(text, 0, 'The file holds several YAML documents; keep one `---` at most')
  const json = documents[0] ?? undefined
  if (json === undefined) return undefined
  if (typeof json !== 'object' || Array.isArray(json)) {
    refuse(text, 0, 'The file must be a map of names at the top')
  }
  if (countOf(json as Json, new Map()) > Math.min(MAX_VALUES, text.length + 100_000)) {
    refuse(text, 0, 'The aliases of this file stand for too many values')
  }
  return json as Json
}

function load(text: string): unknown[] {
  try {
    return loadAll(text, { schema: SCHEMA })
  } catch (cause) {
    const offset = cause instanceof YAMLException ? (cause.mark?.position ?? 0) : 0
    return refuse(
      text,
      offset,
      'A second YAML parser cannot read the file here; check quotes and indentation',
    )
  }
}

/** How many values there are when every alias is written out. A value inside itself counts as endless. */
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
