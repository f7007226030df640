import {
  Composer,
  type CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  type Pair,
  type ParsedNode,
  Parser,
  Schema,
  type YAMLError,
} from 'yaml'
import type { Json } from '../format.ts'
import { refuse } from './lines.ts'

/** The second parser stops at 100; where it would stop, the first has stopped before. */
const MAX_DEPTH = 90
/** A file of 1 KB can stand for a billion values. Values that stand there themselves are not counted. */
const MAX_VALUES_BY_ALIAS = 100_000

export interface Parsed {
  /** Without BOM. */
  readonly text: string
  /** Undefined when the file says nothing. */
  readonly root: ParsedNode | undefined
  readonly json: Json | undefined
  /** Behind the leading `---`. */
  readonly marker: number | undefined
}

// Merge keys and YAML 1.1 are switched off, also where the file asks for them: `<<` is read as a name, as the other
// parser does. The check for unique names in `yaml` is quadratic, so the names are checked here.
const OPTIONS = {
  keepSourceTokens: true,
  prettyErrors: false,
  schema: new Schema({ merge: false, resolveKnownTags: false, schema: 'core' }),
  uniqueKeys: false,
}

/** The whole text, or `CannotEdit` with the place of the first thing that is wrong or can be read in two ways. */
export function parse(text: string): Parsed {
  refuseOddLineEnds(text)
  const tokens = [...new Parser().parse(text)]
  const [doc, second] = [...new Composer(OPTIONS).compose(tokens, true, text.length)]
  const fault = firstFault([doc?.errors, doc?.warnings, second?.errors])
  if (second) {
    refuse(text, second.range[0], 'The file holds several YAML documents; keep one `---` at most')
  }
  if (fault) refuse(text, fault.pos[0], sentenceOf(fault))
  const marker = markerOf(tokens)
  const root = doc?.contents as ParsedNode | null | undefined
  if (!root || isNothing(root)) return { text, root: undefined, json: undefined, marker }
  const json = new Reader(text).read(root, 0)
  if (json !== null && (typeof json !== 'object' || Array.isArray(json))) {
    refuse(text, root.range[0], 'The file must be a map of names at the top')
  }
  return { text, root, json: json ?? undefined, marker }
}

/** Nothing stands there: `name:` and no more. */
export function isNothing(node: ParsedNode): boolean {
  return isScalar(node) && node.range[0] === node.range[1] && node.type === 'PLAIN'
}

/** Readers of YAML 1.1 end a line at these, readers of YAML 1.2 do not. */
function refuseOddLineEnds(text: string): void {
  const odd = text.search(/\r(?!\n)|[\u0085\u2028\u2029]/)
  if (odd >= 0) {
    refuse(text, odd, 'An unusual line separator can be read in two ways; replace it by a normal line end')
  }
}

function markerOf(tokens: readonly CST.Token[]): number | undefined {
  for (const token of tokens) {
    if (token.type !== 'document') continue
    const marker = token.start.find(({ type }) => type === 'doc-start')
    return marker && marker.offset + marker.source.length
  }
  return undefined
}

function firstFault(lists: readonly (readonly YAMLError[] | undefined)[]): YAMLError | undefined {
  let first: YAMLError | undefined
  for (const list of lists) {
    for (const fault of list ?? []) if (!first || fault.pos[0] < first.pos[0]) first = fault
  }
  return first
}

/** The parser's own sentences may quote the file, and the file holds secrets. */
function sentenceOf({ code }: YAMLError): string {
  return SENTENCES[code] ?? 'This is not valid YAML; check quotes, brackets and indentation here'
}
const SENTENCES: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'This alias or anchor has no proper name',
  BAD_DIRECTIVE: 'This directive is unknown; remove the line that begins with %',
  BAD_DQ_ESCAPE: 'Unknown escape in a text in double quotes; write \\\\ for a backslash',
  BAD_INDENT: 'The indentation is wrong here; align it with the lines around it',
  KEY_OVER_1024_CHARS: 'This name is too long; names have 1024 characters at most',
  MISSING_CHAR: 'Something is missing here, such as a quote, a bracket, a comma or a colon',
  RESOURCE_EXHAUSTION: 'The file is nested too deeply',
  TAB_AS_INDENT: 'A tab is used as indentation; use spaces',
  TAG_RESOLVE_FAILED: 'This tag is unknown or does not fit its value; remove it',
}

/** Builds the values. What an alias stands for is shared and not copied, so that a bomb costs nothing. */
class Reader {
  readonly #text: string
  readonly #anchors = new Map<string, { value: Json; count: number } | 'open'>()
  #count = 0
  #byAlias = 0

  constructor(text: string) {
    this.#text = text
  }

  read(node: ParsedNode | null, depth: number): Json {
    if (node === null) return null
    if (depth > MAX_DEPTH) return refuse(this.#text, node.range[0], 'The file is nested too deeply')
    if (isAlias(node)) return this.#alias(node.source, node.range[0])
    const before = this.#count
    this.#count += 1
    if (node.anchor) this.#anchors.set(node.anchor, 'open')
    const value = this.#value(node, depth)
    if (node.anchor) this.#anchors.set(node.anchor, { value, count: this.#count - before })
    return value
  }

  #value(node: ParsedNode, depth: number): Json {
    if (isMap(node)) return this.#map(node.items as Pair<ParsedNode, ParsedNode | null>[], depth)
    if (isSeq(node)) return node.items.map((item) => this.read(item as ParsedNode, depth + 1))
    const value: unknown = isScalar(node) ? node.value : undefined
    if (value === null || ['string', 'number', 'boolean'].includes(typeof value)) return value as Json
    return refuse(this.#text, node.range[0], 'This value is of a kind that cannot be kept')
  }

  #map(pairs: readonly Pair<ParsedNode, ParsedNode | null>[], depth: number): Json {
    const map: Record<string, Json> = {}
    for (const { key, value } of pairs) {
      if (!isScalar(key)) return refuse(this.#text, key.range[0], 'A name must be a simple text here')
      const name = this.#name(key)
      if (Object.hasOwn(map, name)) {
        refuse(this.#text, key.range[0], 'This name stands twice in the same map; remove one of the two')
      }
      put(map, name, this.read(value, depth + 1))
    }
    return map
  }

  #name(key: ParsedNode): string {
    const name = String(this.read(key, 0))
    if (key.anchor) this.#anchors.set(key.anchor, { value: name, count: 1 })
    return name
  }

  #alias(name: string, offset: number): Json {
    const anchor = this.#anchors.get(name)
    if (!anchor) return refuse(this.#text, offset, 'This alias has no anchor above it')
    if (anchor === 'open') return refuse(this.#text, offset, 'This alias stands inside what it stands for')
    this.#count += anchor.count
    this.#byAlias += anchor.count
    if (this.#byAlias > MAX_VALUES_BY_ALIAS) {
      refuse(this.#text, offset, 'The aliases of this file stand for too many values')
    }
    return anchor.value
  }
}

/** A member, also when its name is `__proto__`. */
export function put(map: Record<string, Json>, name: string, value: Json): void {
  if (name !== '__proto__') map[name] = value
  else Object.defineProperty(map, name, { value, enumerable: true, configurable: true, writable: true })
}
