import type { Dialect } from '../../catalogue/catalogue.schema.ts'
import type { Json } from '../format.ts'
import { setMember } from '../json-value.ts'
import { refusal } from '../text.ts'
import { CLOSES, invalidJson, KIND, MAX_DEPTH, Tokens } from './tokens.ts'

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
  /** The offset of the name, or of the value in a list. */
  readonly start: number
  /** Undefined in a list. */
  readonly name: string | undefined
  readonly node: Node
  /** The offset of the comma after it. */
  readonly comma: number | undefined
}

/** The values of the text and their positions; undefined if the text is empty or has only comments. */
export function parseTree(text: string, dialect: Dialect): Node | undefined {
  const tokens = new Tokens(text, dialect)
  if (tokens.kind === KIND.end) return undefined
  const root = readNode(tokens, dialect, 1)
  if (tokens.kind !== KIND.end) throw invalidJson(text, tokens.start, 'there is more text after the end')
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
  if (depth > MAX_DEPTH) throw refusal(text, start, `The file is nested deeper than ${MAX_DEPTH} levels`)
  const close = kind === 'map' ? KIND.closeMap : KIND.closeList
  const members: Member[] = []
  tokens.next()
  while (tokens.kind !== close) {
    const member = readMember(tokens, dialect, kind, depth)
    members.push(member)
    if (member.comma === undefined && tokens.kind !== close) {
      throw invalidJson(text, tokens.start, missing(tokens, 'a comma is missing'))
    }
    if (member.comma !== undefined && tokens.kind === close && !dialect.trailingCommas)
      throw refusal(text, member.comma, 'This agent cannot read a trailing comma. Remove it first')
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
    throw invalidJson(tokens.text, tokens.start, missing(tokens, 'a colon is missing after a name'))
  }
  tokens.next()
  return name
}

function missing({ kind }: Tokens, otherwise: string): string {
  if (kind === KIND.end) return 'the file ends too early: a closing bracket is missing'
  if (kind === KIND.unknown) return 'there is a word or sign that is not part of JSON'
  return CLOSES.includes(kind) ? `${otherwise}, or this bracket does not match the opening one` : otherwise
}

export function jsonOf(node: Node): Json {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.members.map((member) => jsonOf(member.node))
  const map: Record<string, Json> = {}
  for (const { name = '', node: value } of node.members) setMember(map, name, jsonOf(value))
  return map
}
