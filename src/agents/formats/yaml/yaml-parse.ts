import {
  Composer,
  type CST,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  Lexer,
  type Pair,
  type ParsedNode,
  Parser,
  Schema,
  type YAMLError,
} from 'yaml'
import { type Json, setMember } from '../../catalogue/json-value.ts'
import { CannotEdit } from '../format.ts'
import { refusal } from '../text-edits.ts'
import type { Parsed } from '../verified-format.ts'

/** Below the limit of the second parser, which is 100. */
const MAX_DEPTH = 90
/** Each level opens one token of the parser, a name with an anchor or a tag one more. */
const MAX_OPEN_TOKENS = 2 * MAX_DEPTH + 10
const TOO_DEEP = 'The file is nested too deeply'
/** A file of 1 KB can expand to a billion values. Values outside of aliases are not counted. */
const MAX_VALUES_BY_ALIAS = 100_000

export interface ParsedYaml extends Parsed {
  readonly root: ParsedNode | undefined
  /** The offset after the leading `---`. */
  readonly marker: number | undefined
}

// Merge keys and YAML 1.1 are off, even if the file requests them: `<<` is an ordinary name, as for the second parser.
// The uniqueness check of `yaml` is quadratic, so duplicate names are detected here.
const OPTIONS = {
  keepSourceTokens: true,
  prettyErrors: false,
  schema: new Schema({ merge: false, resolveKnownTags: false, schema: 'core' }),
  uniqueKeys: false,
}

/** Throws `CannotEdit` for the first error or ambiguity. */
export function parse(text: string): ParsedYaml {
  refuseOddLineEnds(text)
  const { tokens, documents } = compose(text)
  const [doc, second] = documents
  const faults = [doc?.errors, doc?.warnings, second?.errors].flatMap((list) => list ?? [])
  const [fault] = faults.sort((a, b) => a.pos[0] - b.pos[0])
  if (second) {
    throw refusal(text, second.range[0], 'The file has several YAML documents. Only one is allowed')
  }
  if (fault) throw refusal(text, fault.pos[0], messageOf(fault))
  const marker = markerOf(tokens)
  const root = doc?.contents as ParsedNode | null | undefined
  if (!root || isNothing(root)) return { text, root: undefined, json: undefined, marker }
  const json = new Reader(text).read(root, 0)
  if (json !== null && (typeof json !== 'object' || Array.isArray(json))) {
    throw refusal(text, root.range[0], 'The top of this file must be a map')
  }
  return { text, root, json: json ?? undefined, marker }
}

function compose(text: string) {
  try {
    const tokens = tokensOf(text)
    return { tokens, documents: [...new Composer(OPTIONS).compose(tokens, true, text.length)] }
  } catch (cause) {
    if (cause instanceof CannotEdit) throw cause
    const error = refusal(text, 0, 'The file cannot be parsed as YAML')
    error.cause = cause
    throw error
  }
}

/** Stops at the first value that is nested too deeply: what follows would exhaust the stack. */
function tokensOf(text: string): CST.Token[] {
  const parser = new Parser()
  const tokens: CST.Token[] = []
  for (const lexeme of new Lexer().lex(text)) {
    for (const token of parser.next(lexeme)) tokens.push(token)
    if (parser.stack.length > MAX_OPEN_TOKENS) throw refusal(text, parser.offset, TOO_DEEP)
  }
  for (const token of parser.end()) tokens.push(token)
  return tokens
}

/** A missing value, as in `name:`. */
export function isNothing(node: ParsedNode): boolean {
  return isScalar(node) && node.range[0] === node.range[1] && node.type === 'PLAIN'
}

/** Line ends in YAML 1.1, but not in YAML 1.2. */
function refuseOddLineEnds(text: string): void {
  const odd = text.search(/\r(?!\n)|[\u0085\u2028\u2029]/)
  if (odd >= 0) {
    throw refusal(text, odd, 'This line separator is ambiguous. Replace it with a normal line end')
  }
}

function markerOf(tokens: readonly CST.Token[]): number | undefined {
  const document = tokens.find((token) => token.type === 'document')
  const marker = document?.start.find(({ type }) => type === 'doc-start')
  return marker && marker.offset + marker.source.length
}

/** The parser's own messages quote the file, which contains secrets. */
function messageOf({ code }: YAMLError): string {
  return MESSAGES[code] ?? 'Invalid YAML. Check quotes, brackets and indentation'
}
const MESSAGES: Partial<Record<YAMLError['code'], string>> = {
  BAD_ALIAS: 'Invalid alias or anchor name',
  BAD_DIRECTIVE: 'Unknown directive. Remove the line that begins with %',
  BAD_DQ_ESCAPE: 'Unknown escape in a double-quoted string. Write \\\\ for a backslash',
  BAD_INDENT: 'Wrong indentation. Align this line with its neighbours',
  KEY_OVER_1024_CHARS: 'The name is longer than 1024 characters',
  MISSING_CHAR: 'A quote, bracket, comma or colon is missing',
  RESOURCE_EXHAUSTION: TOO_DEEP,
  TAB_AS_INDENT: 'A tab is used for indentation. Use spaces',
  TAG_RESOLVE_FAILED: 'The tag is unknown or does not match its value. Remove it',
}

/** Builds the values. Aliased values are shared and not copied, so that an alias bomb costs nothing. */
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
    if (depth > MAX_DEPTH) throw refusal(this.#text, node.range[0], TOO_DEEP)
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
    throw refusal(this.#text, node.range[0], 'Values of this kind are not supported')
  }

  #map(pairs: readonly Pair<ParsedNode, ParsedNode | null>[], depth: number): Json {
    const map: Record<string, Json> = {}
    for (const { key, value } of pairs) {
      if (!isScalar(key)) throw refusal(this.#text, key.range[0], 'A name must be a scalar')
      const name = this.#name(key)
      if (Object.hasOwn(map, name)) {
        throw refusal(this.#text, key.range[0], 'Duplicate name. Remove one of the two first')
      }
      setMember(map, name, this.read(value, depth + 1))
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
    if (!anchor) throw refusal(this.#text, offset, 'The alias has no anchor above it')
    if (anchor === 'open') throw refusal(this.#text, offset, 'The alias refers to a value that contains it')
    this.#count += anchor.count
    this.#byAlias += anchor.count
    if (this.#byAlias > MAX_VALUES_BY_ALIAS) {
      throw refusal(this.#text, offset, 'The aliases in this file expand to too many values')
    }
    return anchor.value
  }
}
