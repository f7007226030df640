import { CORE_SCHEMA, defineMappingTag, loadAll, YAMLException } from 'js-yaml'
import { isSame, itemOf, type Json, type Path, setMember, valueAt } from '../../catalogue/json-value.ts'
import type { Format, Trace } from '../format.ts'
import { refusal, spliced } from '../text-edits.ts'
import { type Proposal, verifiedFormat } from '../verified-format.ts'
import { add } from './yaml-add.ts'
import { type ParsedYaml, parse } from './yaml-parse.ts'
import { refuseMarksIn, walk } from './yaml-path.ts'
import { readTrace, remove, writeTrace } from './yaml-remove.ts'
import { replace } from './yaml-replace.ts'

/** YAML, as Goose, Hermes, Continue and Rovo Dev use it. Parsed with `yaml` and verified with `js-yaml`. */
export const yamlFormat: Format = verifiedFormat<ParsedYaml>({
  // About 1.5 s of CPU time per MiB, and four times as much for an edit. Real files have a few KiB.
  maxBytes: 256 * 1024,
  acceptsBom: true,
  parse,
  readAgain: readWithJsYaml,
  find: (parsed, path) => walk(parsed, path)[path.length]?.item?.start,
  set,
  remove: removal,
})

function set(parsed: ParsedYaml, path: Path, value: Json): Proposal<ParsedYaml> {
  const { text } = parsed
  const levels = walk(parsed, path)
  if (!isWritable(value)) throw refusal(text, 0, 'YAML cannot represent a string or number in this value')
  const target = levels[path.length]
  if (target) {
    const step = path.at(-1)
    const whole = typeof step === 'object' ? itemOf(step, value) : value
    if (isSame(valueAt(parsed.json, path), whole)) return { text, at: 0 }
    refuseMarksIn(text, target)
    return { text: spliced(text, replace(parsed, target, whole)), at: target.item?.start ?? 0 }
  }
  const { splices, before } = add(parsed, levels, path, value)
  const trace = before && writeTrace(before)
  const confirm = (edited: ParsedYaml) => {
    if (removal(edited, path, trace).text === text) return trace
    throw refusal(text, 0, 'This addition could not be undone')
  }
  return { text: spliced(text, splices), at: levels.at(-1)?.item?.start ?? 0, trace, confirm }
}

function removal(parsed: ParsedYaml, path: Path, trace: Trace | undefined): Proposal<ParsedYaml> {
  const { text } = parsed
  const levels = walk(parsed, path)
  if (!levels[path.length]) return { text, at: 0 }
  const { splices, target } = remove(parsed, levels, path, readTrace(trace))
  refuseMarksIn(text, target)
  return { text: spliced(text, splices), at: target.item?.start ?? 0 }
}

/** Lone surrogates cannot be encoded as UTF-8, and YAML parsers disagree about infinite numbers and NaN. */
function isWritable(value: Json): boolean {
  if (typeof value === 'string') return value.isWellFormed()
  if (typeof value === 'number') return Number.isFinite(value)
  if (value === null || typeof value !== 'object') return true
  return Object.entries(value).every(([name, inner]) => name.isWellFormed() && isWritable(inner))
}

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
function readWithJsYaml(text: string): Json | undefined {
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
