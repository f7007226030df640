import { createScanner, type JSONScanner } from 'jsonc-parser'
import type { Dialect } from '../../catalogue/agent-record.ts'
import {
  type ItemWith,
  type Json,
  type Path,
  type Step,
  setMember,
  stepName,
} from '../../catalogue/json-value.ts'
import type { CannotEdit } from '../format.ts'
import { refusal } from '../text-edits.ts'

export type Node = Scalar | Container
interface Scalar {
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

/** The token kinds of jsonc-parser, which declares them as a const enum that does not exist at run time. */
export const KIND = {
  openMap: 1,
  closeMap: 2,
  openList: 3,
  closeList: 4,
  comma: 5,
  colon: 6,
  null: 7,
  true: 8,
  false: 9,
  text: 10,
  number: 11,
  lineComment: 12,
  blockComment: 13,
  lineBreak: 14,
  blank: 15,
  unknown: 16,
  end: 17,
} as const
const CLOSES: readonly number[] = [KIND.closeMap, KIND.closeList]

/** By the error number of jsonc-parser, from 1. */
const ERRORS = [
  '',
  'a comment is not closed',
  'a string is not closed',
  'a number is incomplete',
  '\\u is not followed by four hex digits',
  'an unknown escape follows a backslash; double the backslashes in a path',
  'a string contains a control character',
]

/** Deeper than any agent's file, and far from the depth at which recursion exhausts the stack. */
export const MAX_DEPTH = 200

/** Some parsers end the comment here and others do not, so what follows is a value or part of the comment. */
export const LONE_RETURN = 'A carriage return without a line feed makes it unclear where this comment ends'

const invalidJson = (text: string, offset: number, what: string): CannotEdit =>
  refusal(text, offset, `Invalid JSON: ${what}`)

/** Reads the text token by token and skips blanks and comments. Throws for what the dialect does not allow. */
class Tokens {
  readonly text: string
  kind: number = KIND.end
  start = 0
  end = 0
  readonly #scanner: JSONScanner
  readonly #dialect: Dialect

  constructor(text: string, dialect: Dialect) {
    this.text = text
    this.#scanner = createScanner(text, false)
    this.#dialect = dialect
    this.next()
  }

  next(): void {
    do {
      this.kind = this.#scanner.scan()
      this.start = this.#scanner.getTokenOffset()
      this.end = this.#scanner.getPosition()
      this.#check()
    } while (this.kind >= KIND.lineComment && this.kind <= KIND.blank)
  }

  /** Undefined if the token is not a scalar. */
  scalar(): null | boolean | number | string | undefined {
    switch (this.kind) {
      case KIND.null:
        return null
      case KIND.true:
        return true
      case KIND.false:
        return false
      case KIND.text:
        return this.#scanner.getTokenValue()
      case KIND.number:
        return Number(this.text.slice(this.start, this.end))
      default:
        return undefined
    }
  }

  #check(): void {
    const error = ERRORS[this.#scanner.getTokenError()]
    if (error) throw invalidJson(this.text, this.start, error)
    if (this.kind !== KIND.lineComment && this.kind !== KIND.blockComment) return
    if (!this.#dialect.comments)
      throw refusal(
        this.text,
        this.start,
        'The agent accepts no comments in this file. Remove this comment first',
      )
    if (this.kind === KIND.lineComment && this.text[this.end] === '\r' && this.text[this.end + 1] !== '\n')
      throw refusal(this.text, this.end, LONE_RETURN)
  }
}

/** One step of a path: a map or list, and the member that the step leads to. */
export interface Level {
  readonly container: Container
  /** -1 if there is no such member. */
  readonly index: number
}

/** As many levels as exist: fewer than steps if something on the path is missing, none if the text is empty. */
export function walk(text: string, root: Node | undefined, path: Path): Level[] {
  const levels: Level[] = []
  let node = root
  for (const [depth, step] of path.entries()) {
    if (node === undefined) break
    const container = containerFor(text, node, step, path[depth - 1])
    const index = indexOfStep(text, container, step)
    levels.push({ container, index })
    node = container.members[index]?.node
  }
  return levels
}

/** The member that the whole path leads to. */
export function memberAt(levels: readonly Level[], path: Path): Member | undefined {
  const last = levels[path.length - 1]
  return last?.container.members[last.index]
}

function containerFor(text: string, node: Node, step: Step, previous: Step | undefined): Container {
  const kind = typeof step === 'string' ? 'map' : 'list'
  if (node.kind === kind) return node
  const what = previous === undefined ? 'The top of this file' : `'${stepName(previous)}'`
  throw refusal(text, node.start, `${what} must be ${kind === 'map' ? 'an object { }' : 'a list [ ]'}`)
}

function indexOfStep(text: string, { members }: Container, step: Step): number {
  let found = -1
  for (const [index, member] of members.entries()) {
    if (!isMatch(text, member, step)) continue
    if (found !== -1) throw duplicate(text, member, stepName(step))
    found = index
  }
  return found
}

function isMatch(text: string, { name, node }: Member, step: Step): boolean {
  if (typeof step === 'string') return name === step
  if ('item' in step) return node.kind === 'scalar' && node.value === step.item
  return node.kind === 'map' && hasField(text, node, step)
}

function hasField(text: string, { members }: Container, { field, is }: ItemWith): boolean {
  const fields = members.filter(({ name }) => name === field)
  const isFound = fields.some(({ node }) => node.kind === 'scalar' && node.value === is)
  if (isFound && fields[1] !== undefined) throw duplicate(text, fields[1], field)
  return isFound
}

function duplicate(text: string, { start }: Member, name: string): CannotEdit {
  return refusal(text, start, `Duplicate '${name}'. Remove one of the two first`)
}
