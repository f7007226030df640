import type { Json, Step } from '../../catalogue/json-value.ts'
import { eolOf, insertion, lineIndent, type Splice, spliced } from '../text.ts'
import { indentIn, lastComment, render, renderEntry, type Style, styleOf, tailAfter } from './json-style.ts'
import type { Container, Member, Node } from './json-tree.ts'

export interface Added {
  readonly text: string
  /** The blanks between the brackets of a container that was empty; they are gone now. */
  readonly blank: string | undefined
}

/** Adds an entry after the last one. `containers` are the maps and lists on the path, the innermost first. */
export function addEntry(text: string, containers: readonly Container[], step: Step, value: Json): Added {
  const [container, outer] = containers
  const last = container?.members.at(-1)
  if (container === undefined) return addFile(text, step, value)
  const style = styleOf(text, containers)
  const entry = (indent: string | undefined) => renderEntry(step, value, style, indent)
  if (last === undefined) return addFirst(text, container, outer, style, entry)
  return { text: spliced(text, addAfter(text, container, last, style, entry)), blank: undefined }
}

type Entry = (indent: string | undefined) => string

function addAfter(text: string, container: Container, last: Member, style: Style, entry: Entry): Splice[] {
  const from = last.comma === undefined ? last.node.end : last.comma + 1
  const tail = tailAfter(text, from, 'all')
  const ownComma = last.comma === undefined ? '' : ','
  const comma = insertion(from, last.comma === undefined ? ',' : '')
  const put = (at: number, added: string) => [comma, insertion(at, added)]

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
  const put = (start: number, added: string): Added => {
    const end = start === from ? close : start
    return { text: spliced(text, [{ start, end, text: added }]), blank }
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

/** To a file without values. Its blanks and comments stay above the entry. */
function addFile(text: string, step: Step, value: Json): Added {
  const style = { eol: eolOf(text), unit: '  ', colon: ': ', comma: ', ', pad: '' }
  const blank = text === '' || text.endsWith('\n') ? '' : style.eol
  const name = typeof step === 'string' ? step : ''
  return { text: `${text}${blank}${render({ [name]: value }, style, '')}${style.eol}`, blank }
}

/** Replaces a value, in the style of the old one or of its neighbours. */
export function replaceValue(
  text: string,
  containers: readonly Container[],
  member: Member,
  value: Json,
): string {
  const { node } = member
  const [container] = containers
  const models = hasMembers(node) ? [node, ...containers] : containers
  const isOverLines = hasMembers(node)
    ? text.slice(node.start, node.end).includes('\n')
    : container !== undefined && indentIn(text, container) !== undefined
  const indent = isOverLines ? lineIndent(text, member.start) : undefined
  const rendered = render(value, styleOf(text, models), indent)
  return spliced(text, [{ start: node.start, end: node.end, text: rendered }])
}

function hasMembers(node: Node): node is Container {
  return node.kind !== 'scalar' && node.members.length > 0
}
