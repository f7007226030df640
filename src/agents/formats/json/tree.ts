import type { Dialect } from '../../catalogue/catalogue.schema.ts'
import type { Json } from '../format.ts'
import { cannotEdit, invalidJson, MAX_DEPTH } from './errors.ts'
import { CLOSES, KIND, Tokens } from './tokens.ts'

export type Node = Scalar | Container
export interface Scalar {
  readonly kind: 'scalar'
  readonly start: number
  readonly end: number
  readonly value: null | boolean | number | string
}
export interface Container {
  readonly kind: 'map' | 'list'
  readonly start: number
  readonly end: number
  readonly members: readonly Member[]
}
export interface Member {
  /** Of the name, or of the value in a list. */
  readonly start: number
  /** Undefined in a list. */
  readonly name: string | undefined
  readonly node: Node
  /** Where the comma behind it stands. */
  readonly comma: number | undefined
}

/** What the text says and where it says it; undefined when it says nothing. */
export function parseTree(text: string, dialect: Dialect): Node | undefined {
  const tokens = new Tokens(text, dialect)
  if (tokens.kind === KIND.end) return undefined
  const root = readNode(tokens, dialect, 1)
  if (tokens.kind !== KIND.end) throw invalidJson(text, tokens.start, 'there is more text behind its end')
  return root
}

function readNode(tokens: Tokens, dialect: Dialect, depth: number): Node {
  const { kind, start, end } = tokens
  if (kind === KIND.openMap || kind === KIND.openList) return readContainer(tokens, dialect, depth)
  const value = tokens.scalar()
  if (value === undefined) throw invalidJson(tokens.text, start, missing(tokens, 'a value is expected'))
  tokens.next()
  return { kind: 'scalar', start, end, value }
}

function readContainer(tokens: Tokens, dialect: Dialect, depth: number): Container {
  const { text, start } = tokens
  const kind = tokens.kind === KIND.openMap ? 'map' : 'list'
  if (depth > MAX_DEPTH) {
    throw cannotEdit(
      text,
      start,
      (line) => `This file is nested deeper than ${MAX_DEPTH} levels in line ${line}`,
    )
  }
  const close = kind === 'map' ? KIND.closeMap : KIND.closeList
  const members: Member[] = []
  tokens.next()
  while (tokens.kind !== close) {
    const member = readMember(tokens, dialect, kind, depth)
    members.push(member)
    if (member.comma === undefined && tokens.kind !== close) {
      throw invalidJson(text, tokens.start, missing(tokens, 'a comma is missing'))
    }
    if (member.comma !== undefined && tokens.kind === close) refuseComma(text, member.comma, dialect)
  }
  const { end } = tokens
  tokens.next()
  return { kind, start, end, members }
}

function readMember(tokens: Tokens, dialect: Dialect, kind: 'map' | 'list', depth: number): Member {
  const { start } = tokens
  const name = kind === 'map' ? readName(tokens) : undefined
  const node = readNode(tokens, dialect, depth + 1)
  const comma = tokens.kind === KIND.comma ? tokens.start : undefined
  if (comma !== undefined) tokens.next()
  return { start, name, node, comma }
}

function readName(tokens: Tokens): string {
  const name = tokens.scalar()
  if (typeof name !== 'string') {
    throw invalidJson(tokens.text, tokens.start, missing(tokens, 'a name in double quotes is expected'))
  }
  tokens.next()
  if (tokens.kind !== KIND.colon) {
    throw invalidJson(tokens.text, tokens.start, missing(tokens, 'a colon is missing behind a name'))
  }
  tokens.next()
  return name
}

function missing({ kind }: Tokens, otherwise: string): string {
  if (kind === KIND.end) return 'it ends too early, a closing bracket is missing'
  if (kind === KIND.unknown) return 'there is a word or sign that JSON does not have'
  return CLOSES.includes(kind) ? `${otherwise}, or this bracket closes the wrong one` : otherwise
}

function refuseComma(text: string, comma: number, dialect: Dialect): void {
  if (dialect.trailingCommas) return
  throw cannotEdit(
    text,
    comma,
    (line) =>
      `The agent that owns this file cannot read a comma behind the last entry; remove the one in line ${line}`,
  )
}

/** The name `__proto__` becomes a name like any other, as JSON.parse makes it. */
export function jsonOf(node: Node): Json {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.members.map((member) => jsonOf(member.node))
  const map: Record<string, Json> = {}
  for (const { name = '', node: value } of node.members) {
    if (name !== '__proto__') map[name] = jsonOf(value)
    else {
      const asOwn = { value: jsonOf(value), writable: true, enumerable: true, configurable: true }
      Object.defineProperty(map, name, asOwn)
    }
  }
  return map
}
