import type { ParsedNode } from 'yaml'
import { itemOf, type Json, type Step } from '../../catalogue/json-value.ts'
import { deletion, eolOf, insertion, lineStart, nextLine, refusal, type Splice } from '../text-edits.ts'
import type { Level } from './yaml-path.ts'
import { flowPair, flowText } from './yaml-render.ts'
import { columnOf, endOf, type Item } from './yaml-tree.ts'

/** Maps and lists in brackets, with their items on one line or each on its own. */

/** After the last item; on a new line if the last item and the closing bracket have lines of their own. */
export function addToFlow(text: string, { node, items }: Level, step: Step, inner: Json): Splice[] {
  const last = items.at(-1) as Item
  const added = entryText(step, inner, isQuoted(text, last))
  const rest = text.slice(last.end, endOf(node as ParsedNode) - 1)
  if (!beginsLine(text, last.start) || !rest.includes('\n')) {
    return [insertion(last.end, `, ${added}`)]
  }
  const line = nextLine(text, last.end)
  const indent = ' '.repeat(columnOf(text, last.start))
  const hasComma = /^[ \t]*,/.test(rest)
  const entry = insertion(line, `${indent}${added}${hasComma ? ',' : ''}${eolOf(text)}`)
  return hasComma ? [entry] : [insertion(last.end, ','), entry]
}

/** The first item in empty brackets. A comment between them stays, and the item then gets its own line. */
export function startInFlow(
  text: string,
  { node, item, column }: Level,
  step: Step,
  inner: Json,
): { splice: Splice; was: string | undefined } {
  if (!node) throw refusal(text, item?.start ?? 0, 'Write {} or [] here first')
  const start = node.range[0]
  const end = endOf(node)
  const entry = entryText(step, inner, text[item?.start ?? 0] === '"')
  const was = text.slice(start, end)
  if (was.includes('#')) {
    const at = lineStart(text, end - 1)
    const indent = ' '.repeat(Math.max(column, columnOf(text, end - 1)) + 2)
    return { splice: insertion(at, indent + entry + eolOf(text)), was: undefined }
  }
  const filled = typeof step === 'string' ? `{${entry}}` : `[${entry}]`
  return { splice: { start, end, text: filled }, was }
}

/** Removes an item with its comma. */
export function removeFromFlow(text: string, { items }: Pick<Level, 'items'>, index: number): Splice[] {
  const item = items[index] as Item
  const before = items[index - 1]
  const next = items[index + 1]
  const comma = /^[ \t]*,/.exec(text.slice(item.end, nextLine(text, item.end)))
  if (hasOwnLine(text, item) && (comma || !next)) {
    const line = deletion(lineStart(text, item.start), nextLine(text, item.end))
    return comma || !before ? [line] : [line, commaAfter(text, before, item)]
  }
  const start = next || !before ? item.start : before.end
  const end = next ? next.start : item.end
  if (text.slice(next ? item.end : start, next ? end : item.start).includes('#'))
    throw refusal(text, start, 'Move the comment between these items first')
  return [deletion(start, end)]
}

function commaAfter(text: string, before: Item, item: Item): Splice {
  const between = text.slice(before.end, item.start)
  const at = before.end + between.search(/\S/)
  if (text[at] !== ',') throw refusal(text, before.end, 'Move the comment before the comma first')
  return deletion(at, at + 1)
}

/** Nothing else is inside the brackets, not even a comment. */
export function isAlone(text: string, node: ParsedNode, item: Item): boolean {
  const before = text.slice(node.range[0] + 1, item.start)
  const after = text.slice(item.end, endOf(node) - 1)
  return /^\s*$/.test(before) && /^\s*,?\s*$/.test(after)
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

/** The neighbour has double quotes that YAML does not require: the file is meant to be valid JSON too. */
function isQuoted(text: string, { start }: Item): boolean {
  return text[start] === '"' || /^\{\s*"/.test(text.slice(start, start + 200))
}
