import type { Json, Path, Step } from '../../catalogue/json-value.ts'
import type { Trace } from '../format.ts'
import { deletion, eolOf, insertion, lineIndent, lineStart, type Splice, spliced } from '../text-edits.ts'
import { parseTrace } from '../verified-format.ts'
import {
  afterBlanks,
  beforeBlanks,
  indentIn,
  isAllBlank,
  lastComment,
  lineBefore,
  render,
  renderEntry,
  type Style,
  styleOf,
  tailAfter,
} from './json-style.ts'
import type { Container, Level, Member, Node } from './json-tree.ts'

interface Added {
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

/** The state of the file before a `set`. */
interface Found {
  /** The path of the map or list that got the value. */
  readonly path: Path
  /** How many steps of that path existed: 0 if only the top did, -1 if the file had no values. */
  readonly depth: number
  /** The blanks in an empty container; for a file without values, the line end that was added after its text. */
  readonly blank: string | undefined
}

export function traceOf(found: Found): Trace | undefined {
  return found.depth < found.path.length || found.blank !== undefined ? JSON.stringify(found) : undefined
}

/** Undefined for a trace of another format: then only the entry itself is removed. */
function readTrace(trace: Trace): Found | undefined {
  const { path, depth, blank } = parseTrace(trace) ?? {}
  const isBlank = blank === undefined || (typeof blank === 'string' && /^[ \t\r\n]*$/.test(blank))
  if (!Array.isArray(path) || !Number.isInteger(depth) || !isBlank) return undefined
  return { path, depth: Number(depth), blank }
}

/**
 * Removes the entry. With a trace, maps and lists that were created for it are removed once they are empty, and those
 * that were empty before get their old form. Apart from blanks, nothing is removed that we did not write.
 */
export function removeEntry(text: string, levels: readonly Level[], path: Path, trace?: Trace): string {
  const found = trace === undefined ? undefined : readTrace(trace)
  let depth = path.length - 1
  let cuts = cutsAt(text, levels, depth)
  while (
    found !== undefined &&
    wasMade(found, path, depth) &&
    isBare(text, levels[depth], cuts, path[depth - 1])
  ) {
    if (depth === 0) return withoutTop(text, levels, found) ?? spliced(text, cuts)
    const outer = cutsAt(text, levels, depth - 1)
    if (!isOnlyAround(text, levels[depth - 1], outer)) break
    cuts = outer
    depth -= 1
  }
  const removed = spliced(text, cuts)
  const isLast = levels[depth]?.container.members.length === 1
  if (!isLast || found?.depth !== depth || !isSame(found.path, path, depth)) return removed
  return withBlank(removed, levels[depth], removed.length - text.length, found.blank)
}

function cutsAt(text: string, levels: readonly Level[], depth: number): Splice[] {
  const level = levels[depth]
  return level === undefined ? [] : removalOf(text, level)
}

/**
 * Removes a member with its comma, the rest of its last line, and its line if nothing else is on it. Exactly undoes
 * an addition after other members.
 */
function removalOf(text: string, { container, index }: Level): Splice[] {
  const member = container.members[index]
  if (member === undefined) return []
  const previous = container.members[index - 1]
  const leads = previous !== undefined && hasCommaInFront(text, member)
  const comma = leads ? undefined : member.comma
  const tail = tailAfter(text, member.node.end, 'on one line')
  const end = comma !== undefined && tail.stop === comma ? comma + 1 : member.node.end
  const before = leads ? previous.node.end : (previous?.comma ?? container.start) + 1
  const gap = { start: before, close: container.end - 1, leads }
  const entry = entryCut(text, member.start, end, gap)

  const cuts = [entry]
  if (comma !== undefined && comma >= entry.end) cuts.push(deletion(comma, comma + 1))
  const inFront = member.comma === undefined || leads ? previous?.comma : undefined
  if (inFront !== undefined && inFront < entry.start) cuts.unshift(deletion(inFront, inFront + 1))
  return cuts
}

/** In comma-first style the comma at the start of a line belongs to the entry after it. */
function hasCommaInFront(text: string, { start, node, comma }: Member): boolean {
  if (!/^[ \t\r]*,[ \t\r]*$/.test(lineBefore(text, start))) return false
  return comma === undefined || tailAfter(text, node.end, 'on one line').stop !== comma
}

interface Gap {
  /** After the comma or bracket before the entry; after the previous entry if that comma is removed too. */
  readonly start: number
  /** The offset of the closing bracket. */
  readonly close: number
  readonly leads: boolean
}

function entryCut(text: string, start: number, end: number, gap: Gap): Splice {
  const tail = tailAfter(text, end, 'on one line')
  const beginsLine = gap.leads || isAllBlank(lineBefore(text, start))
  const line = lineStart(text, start)
  if (beginsLine && tail.nextLine !== undefined) return deletion(line, tail.nextLine)
  // A comment before the next entry on this line belongs to that entry.
  if (tail.nextLine === undefined && tail.stop !== gap.close) return deletion(start, afterBlanks(text, end))
  if (!beginsLine) return deletion(beforeBlanks(text, start), tail.end)
  // The closing bracket must not move into the comment on the line above.
  if (lastComment(text, gap.start, start)?.isLine) return deletion(start, tail.end)
  return deletion(text[line - 2] === '\r' ? line - 2 : line - 1, tail.end)
}

function wasMade(found: Found, path: Path, depth: number): boolean {
  return depth > found.depth && depth <= found.path.length && isSame(found.path, path, depth)
}

function isSame(one: Path, other: Path, length: number): boolean {
  return JSON.stringify(one.slice(0, length)) === JSON.stringify(other.slice(0, length))
}

/** Nothing is left but what the container was created with. A comment counts as content. */
function isBare(
  text: string,
  level: Level | undefined,
  cuts: readonly Splice[],
  step: Step | undefined,
): boolean {
  if (level === undefined || level.container.members.length > 2) return false
  const { start, end } = level.container
  const inside = cuts.map((each) => ({ ...each, start: each.start - start, end: each.end - start }))
  const left = spliced(text.slice(start, end), inside)
  if (/^[{[]\s*[}\]]$/.test(left)) return true
  if (typeof step !== 'object' || !('field' in step)) return false
  return withoutBlanks(left) === withoutBlanks(JSON.stringify({ [step.field]: step.is }))
}

function withoutBlanks(text: string): string {
  return text.replace(/[ \t\r\n]+/g, '')
}

/** No comment is beside the container or between its name and its value. We never write one there. */
function isOnlyAround(text: string, level: Level | undefined, cuts: readonly Splice[]): boolean {
  const member = level?.container.members[level.index]
  if (member === undefined) return false
  const { start, node } = member
  const parts = cuts.map((each) => {
    return (
      text.slice(each.start, Math.min(each.end, start)) + text.slice(Math.max(each.start, node.end), each.end)
    )
  })
  const name = member.name === undefined ? '' : text.slice(start, node.start)
  return /^[\s,]*$/.test(parts.join('')) && !/[/][/*]|[*][/]/.test(name.replace(/^"(?:[^"\\]|\\.)*"/, ''))
}

/** For a file that had no values. If it now has more than we wrote, its empty top stays. */
function withoutTop(text: string, levels: readonly Level[], { blank = '' }: Found): string | undefined {
  const top = levels[0]?.container
  if (top === undefined || !/^\r?\n$/.test(text.slice(top.end))) return undefined
  const before = text.slice(0, top.start)
  return before.endsWith(blank) ? before.slice(0, before.length - blank.length) : undefined
}

function withBlank(text: string, level: Level | undefined, grown: number, blank: string | undefined): string {
  if (level === undefined || blank === undefined) return text
  const close = level.container.end - 1 + grown
  const open = level.container.start + 1
  const comment = lastComment(text, open, close)
  // A comment was added since. The bracket would become part of it.
  if (comment?.isLine && !blank.includes('\n')) return text
  return spliced(text, [{ start: comment?.end ?? open, end: close, text: blank }])
}
