import type { ParsedNode } from 'yaml'
import type { Json, Step } from '../format.ts'
import { itemOf } from './change.ts'
import { columnOf, eolOf, lineStart, nextLine, refuse, type Splice } from './lines.ts'
import type { Level } from './path.ts'
import { flowPair, flowText } from './render.ts'
import { endOf, type Item } from './tree.ts'

/** Maps and lists in brackets. Every item has a line of its own, or they stand in a row; a comma is between them. */

/** Behind the last item. On a new line when the last item and the closing bracket have their own lines. */
export function addToFlow(text: string, { node, items }: Level, step: Step, inner: Json): Splice[] {
  const last = items.at(-1) as Item
  const added = entryText(step, inner, isQuoted(text, last))
  const rest = text.slice(last.end, endOf(node as ParsedNode) - 1)
  if (!beginsLine(text, last.start) || !rest.includes('\n')) {
    return [{ from: last.end, to: last.end, text: `, ${added}` }]
  }
  const line = nextLine(text, last.end)
  const indent = ' '.repeat(columnOf(text, last.start))
  const hasComma = /^[ \t]*,/.test(rest)
  const comma = { from: last.end, to: last.end, text: ',' }
  const entry = { from: line, to: line, text: `${indent}${added}${hasComma ? ',' : ''}${eolOf(text)}` }
  return hasComma ? [entry] : [comma, entry]
}

/** The first item in empty brackets. A comment between them stays, and then the item has a line of its own. */
export function startInFlow(
  text: string,
  { node, item, column }: Level,
  step: Step,
  inner: Json,
): { splice: Splice; was: string | undefined } {
  if (!node)
    return refuse(text, item?.start ?? 0, 'Write {} or [] here, so that something can be put into it')
  const from = node.range[0]
  const to = endOf(node)
  const entry = entryText(step, inner, text[item?.start ?? 0] === '"')
  const was = text.slice(from, to)
  if (was.includes('#')) {
    const at = lineStart(text, to - 1)
    const indent = ' '.repeat(Math.max(column, columnOf(text, to - 1)) + 2)
    return { splice: { from: at, to: at, text: indent + entry + eolOf(text) }, was: undefined }
  }
  const filled = typeof step === 'string' ? `{${entry}}` : `[${entry}]`
  return { splice: { from, to, text: filled }, was }
}

/** Takes an item out with its comma. */
export function removeFromFlow(text: string, { items }: Pick<Level, 'items'>, index: number): Splice[] {
  const item = items[index] as Item
  const before = items[index - 1]
  const next = items[index + 1]
  const comma = /^[ \t]*,/.exec(text.slice(item.end, nextLine(text, item.end)))
  if (hasOwnLine(text, item) && (comma || !next)) {
    const line = { from: lineStart(text, item.start), to: nextLine(text, item.end), text: '' }
    return comma || !before ? [line] : [line, commaBehind(text, before, item)]
  }
  const from = next || !before ? item.start : before.end
  const to = next ? next.start : item.end
  if (text.slice(next ? item.end : from, next ? to : item.start).includes('#')) {
    refuse(text, from, 'A comment stands between these items; move it away first')
  }
  return [{ from, to, text: '' }]
}

function commaBehind(text: string, before: Item, item: Item): Splice {
  const between = text.slice(before.end, item.start)
  const at = before.end + between.search(/\S/)
  if (text[at] !== ',') refuse(text, before.end, 'A comment stands before the comma; move it away first')
  return { from: at, to: at + 1, text: '' }
}

/** Only the item stands inside, and no comment. */
export function isAlone(text: string, node: ParsedNode, item: Item): boolean {
  const from = text.slice(node.range[0] + 1, item.start)
  const to = text.slice(item.end, endOf(node) - 1)
  return /^\s*$/.test(from) && /^\s*,?\s*$/.test(to)
}

function hasOwnLine(text: string, { start, end }: Item): boolean {
  return beginsLine(text, start) && /^[ \t]*,?[ \t]*(?:#.*)?\r?\n/.test(text.slice(end, nextLine(text, end)))
}

function beginsLine(text: string, offset: number): boolean {
  return /^[ \t]*$/.test(text.slice(lineStart(text, offset), offset))
}

function entryText(step: Step, inner: Json, quoted: boolean): string {
  return typeof step === 'string' ? flowPair(step, inner, quoted) : flowText(itemOf(step, inner), quoted)
}

/** The neighbour has double quotes where it needs none: the file is to be JSON too. */
function isQuoted(text: string, { start }: Item): boolean {
  return text[start] === '"' || /^\{\s*"/.test(text.slice(start, start + 200))
}
