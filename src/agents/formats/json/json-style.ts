import type { Json, Step } from '../../catalogue/json-value.ts'
import { eolOf, lineIndent, lineStart } from '../text-edits.ts'
import type { Container, Member } from './json-tree.ts'

export interface Style {
  readonly eol: string
  /** One level of indentation. */
  readonly unit: string
  readonly colon: string
  /** Between two entries on one line. */
  readonly comma: string
  /** Inside the braces of an object on one line. */
  readonly pad: string
}

/** The style of the file near a value. `containers` are the maps and lists around it, the innermost first. */
export function styleOf(text: string, containers: readonly Container[]): Style {
  const model = containers.find(({ members }) => members.length > 0)
  const named = containers.find(({ kind, members }) => kind === 'map' && members.length > 0)?.members.at(-1)
  const colon = named === undefined || isSpace(text[named.node.start - 1]) ? ': ' : ':'
  return { eol: eolOf(text), unit: unitOf(text, containers), colon, ...spacingOf(text, model, colon) }
}

function spacingOf(text: string, model: Container | undefined, colon: string): Pick<Style, 'comma' | 'pad'> {
  const last = model?.members.at(-1)
  if (model === undefined || last === undefined) return { comma: ', ', pad: '' }
  const hasSpace = model.members.length > 1 ? isSpace(text[last.start - 1]) : colon === ': '
  const map = model.kind === 'map' ? model : last.node
  const isPadded = map.kind === 'map' && map.members.length > 0 && isSpace(text[map.start + 1])
  return { comma: hasSpace ? ', ' : ',', pad: isPadded ? ' ' : '' }
}

function isSpace(sign: string | undefined): boolean {
  return isBlank(sign) || sign === '\n'
}

function unitOf(text: string, containers: readonly Container[]): string {
  for (const container of containers) {
    const outer = lineIndent(text, container.start)
    const inner = indentIn(text, container)
    if (inner?.startsWith(outer) && inner !== outer) return inner.slice(outer.length)
  }
  return /\n([ \t]+)["{[]/.exec(text)?.[1] ?? '  '
}

/** The indentation of the last entry that begins a line; undefined if all entries are on one line. */
export function indentIn(text: string, { start, members }: Container): string | undefined {
  for (let index = members.length - 1; index >= 0; index -= 1) {
    const member = members[index]
    const from = members[index - 1]?.comma ?? start
    if (member !== undefined && beginsLine(text, member, from)) return lineIndent(text, member.start)
  }
  return undefined
}

/** `from` limits the search for the line break, so that a file on one line is not searched for each entry. */
function beginsLine(text: string, { start }: Member, from: number): boolean {
  const gap = text.slice(from + 1, start)
  return gap.includes('\n') && isAllBlank(gap.slice(gap.lastIndexOf('\n') + 1))
}

export function isAllBlank(gap: string): boolean {
  return /^[ \t\r]*$/.test(gap)
}

/** The part of the line before this offset. */
export function lineBefore(text: string, offset: number): string {
  return text.slice(lineStart(text, offset), offset)
}

/** An entry with its name, or a list item without one. Everything is on one line if `indent` is undefined. */
export function renderEntry(step: Step, value: Json, style: Style, indent: string | undefined): string {
  const name = typeof step === 'string' ? JSON.stringify(step) + style.colon : ''
  return name + render(value, style, indent)
}

export function render(value: Json, style: Style, indent: string | undefined): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const isList = Array.isArray(value)
  const inner = indent === undefined ? undefined : indent + style.unit
  const entries = Object.entries(value).map(([name, each]: [string, Json]) =>
    isList ? render(each, style, inner) : renderEntry(name, each, style, inner),
  )
  const [open, close] = isList ? '[]' : '{}'
  if (entries.length === 0) return `${open}${close}`
  if (inner === undefined) {
    const pad = isList ? '' : style.pad
    return open + pad + entries.join(style.comma) + pad + close
  }
  const line = style.eol + inner
  return open + line + entries.join(`,${line}`) + style.eol + indent + close
}

/** Blanks, line breaks and comments between tokens. The text has been parsed, so all comments are closed. */

interface Tail {
  /** After the last comment; where the tail began if there is none. */
  readonly end: number
  /** Where the line break or the next token begins. */
  readonly stop: number
  /** Where the next line begins; undefined if a token follows on this line. */
  readonly nextLine: number | undefined
  /** Text added on this line would become part of the comment. */
  readonly hasLineComment: boolean
}

/** The blanks and comments that follow on the same line. `comments` says whether those over several lines count. */
export function tailAfter(text: string, from: number, comments: 'all' | 'on one line'): Tail {
  let end = from
  let at = from
  let hasLineComment = false
  for (;;) {
    if (text[at] === '\n') return { end, stop: at, nextLine: at + 1, hasLineComment }
    const commentEnd = endOfComment(text, at)
    const isTaken = comments === 'all' || !text.slice(at, commentEnd ?? at).includes('\n')
    if (commentEnd !== undefined && isTaken) {
      hasLineComment = text[at + 1] === '/'
      at = commentEnd
      end = commentEnd
    } else if (isBlank(text[at])) at += 1
    else return { end, stop: at, nextLine: undefined, hasLineComment }
  }
}

interface Comment {
  readonly end: number
  readonly isLine: boolean
}

/** The last comment in a range without values. */
export function lastComment(text: string, from: number, to: number): Comment | undefined {
  let last: Comment | undefined
  let at = from
  while (at < to) {
    const end = endOfComment(text, at)
    if (end !== undefined) last = { end, isLine: text[at + 1] === '/' }
    at = end ?? at + 1
  }
  return last
}

function endOfComment(text: string, at: number): number | undefined {
  if (text[at] !== '/') return undefined
  if (text[at + 1] === '*') return text.indexOf('*/', at + 2) + 2
  const lineFeed = text.indexOf('\n', at)
  if (lineFeed === -1) return text.length
  return text[lineFeed - 1] === '\r' ? lineFeed - 1 : lineFeed
}

/** A carriage return without a line feed counts as a blank and not as a line break. */
function isBlank(sign: string | undefined): boolean {
  return sign === ' ' || sign === '\t' || sign === '\r'
}

export function afterBlanks(text: string, from: number): number {
  let at = from
  while (isBlank(text[at])) at += 1
  return at
}

export function beforeBlanks(text: string, from: number): number {
  let at = from
  while (isBlank(text[at - 1])) at -= 1
  return at
}
