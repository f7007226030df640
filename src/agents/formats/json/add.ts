import type { Json, Step } from '../format.ts'
import { lastComment, lineIndent, type Splice, spliced, tailAfter } from './between-tokens.ts'
import { eolOf, indentIn, render, renderEntry, type Style, styleOf } from './style.ts'
import type { Container, Member, Node } from './tree.ts'

/** The text, and the blanks that had to go: those between the brackets of what was empty. */
export interface Added {
  readonly text: string
  readonly blank: string | undefined
}

/** Puts an entry behind the last one. `around` are the maps and lists there, the one that gets the entry first. */
export function addEntry(text: string, around: readonly Container[], step: Step, value: Json): Added {
  const [container, outer] = around
  const last = container?.members.at(-1)
  if (container === undefined) return addFile(text, step, value)
  const style = styleOf(text, around)
  const entry = (indent: string | undefined) => renderEntry(step, value, style, indent)
  if (last === undefined) return addFirst(text, container, outer, style, entry)
  return { text: spliced(text, addBehind(text, container, last, style, entry)), blank: undefined }
}

type Entry = (indent: string | undefined) => string

function addBehind(text: string, container: Container, last: Member, style: Style, entry: Entry): Splice[] {
  const from = last.comma === undefined ? last.node.end : last.comma + 1
  const tail = tailAfter(text, from, 'long comments')
  const ownComma = last.comma === undefined ? '' : ','
  const comma = { start: from, end: from, insert: last.comma === undefined ? ',' : '' }
  const put = (at: number, insert: string) => [comma, { start: at, end: at, insert }]

  const found = indentIn(text, container)
  if (found === undefined && !tail.hasLineComment) {
    const gap = style.comma === ', ' || tail.end > from ? ' ' : ''
    return put(tail.end, gap + entry(undefined) + ownComma)
  }
  const indent = found ?? lineIndent(text, container.start) + style.unit
  if (tail.nextLine === undefined) return put(tail.end, style.eol + indent + entry(indent) + ownComma)
  return put(tail.nextLine, indent + entry(indent) + ownComma + style.eol)
}

function addFirst(
  text: string,
  container: Container,
  outer: Container | undefined,
  style: Style,
  entry: Entry,
): Added {
  const open = container.start + 1
  const close = container.end - 1
  const from = lastComment(text, open, close)?.end ?? open
  const blank = text.slice(from, close)
  const put = (start: number, insert: string): Added => {
    return { text: spliced(text, [{ start, end: start === from ? close : start, insert }]), blank }
  }
  const isOverLines =
    outer === undefined || text.slice(open, close).includes('\n') || indentIn(text, outer) !== undefined
  if (!isOverLines) {
    const pad = blank === '' ? style.pad : ' '
    return put(from, (from > open ? ' ' : pad) + entry(undefined) + pad)
  }
  const outerIndent = lineIndent(text, container.start)
  const indent = outerIndent + style.unit
  if (blank.includes('\n')) {
    return put(from + blank.lastIndexOf('\n') + 1, indent + entry(indent) + style.eol)
  }
  return put(from, style.eol + indent + entry(indent) + style.eol + outerIndent)
}

/** A file that says nothing yet. What it holds, blanks or comments, stays above. */
function addFile(text: string, step: Step, value: Json): Added {
  const style = { eol: eolOf(text), unit: '  ', colon: ': ', comma: ', ', pad: '' }
  const blank = text === '' || text.endsWith('\n') ? '' : style.eol
  const name = typeof step === 'string' ? step : ''
  return { text: `${text}${blank}${render({ [name]: value }, style, '')}${style.eol}`, blank }
}

/** Another value in the same place, written as the old one was, or as its neighbours are. */
export function replaceValue(
  text: string,
  around: readonly Container[],
  member: Member,
  value: Json,
): string {
  const { node } = member
  const [container] = around
  const models = hasMembers(node) ? [node, ...around] : around
  const isOverLines = hasMembers(node)
    ? text.slice(node.start, node.end).includes('\n')
    : container !== undefined && indentIn(text, container) !== undefined
  const indent = isOverLines ? lineIndent(text, member.start) : undefined
  const insert = render(value, styleOf(text, models), indent)
  return spliced(text, [{ start: node.start, end: node.end, insert }])
}

function hasMembers(node: Node): node is Container {
  return node.kind !== 'scalar' && node.members.length > 0
}
