import { deletion, insertion, lineIndent, lineStart, nextLine, type Splice } from '../text-edits.ts'
import type { InlineTable, List, Pair, TomlDoc, Value } from './toml-model.ts'
import { indentUnit } from './toml-style.ts'

/** Edits inside `[…]`. Removing an added item restores the same bytes. */

/** Adds an item after the last one, in the style of the list. */
export function addItem(doc: TomlDoc, eol: string, list: List, item: string): Splice[] {
  const last = list.items.at(-1)
  if (last === undefined) return [firstItem(doc, eol, list, item)]
  if (!hasOwnLine(doc.text, list, list.items.length - 1)) return [insertion(last.end, `, ${item}`)]
  const indent = lineIndent(doc.text, last.start)
  const hasTrailingComma = list.commas.length === list.items.length
  const line = `${indent}${item}${hasTrailingComma ? ',' : ''}${eol}`
  const added = insertion(nextLine(doc.text, last.end), line)
  return hasTrailingComma ? [added] : [insertion(last.end, ','), added]
}

function firstItem(doc: TomlDoc, eol: string, list: List, item: string): Splice {
  const close = list.end - 1
  const inner = doc.text.slice(list.start + 1, close)
  if (!inner.includes('\n')) return { start: list.start + 1, end: close, text: item }
  const closeLine = lineStart(doc.text, close)
  const above = lineStart(doc.text, closeLine - 1)
  const comment = above > list.start ? /^([ \t]*)#/.exec(doc.text.slice(above, closeLine)) : null
  const indent = comment?.[1] ?? lineIndent(doc.text, close) + indentUnit(doc)
  return insertion(closeLine, `${indent}${item},${eol}`)
}

/** Removes an item, its comma, and its line if nothing else is on it. */
export function removeItem({ text }: TomlDoc, list: List, index: number): Splice[] {
  const item = list.items[index]
  if (item === undefined) return []
  const before = list.commas[index - 1]
  const after = list.commas[index]
  if (hasOwnLine(text, list, index)) {
    const line = deletion(lineStart(text, item.start), nextLine(text, item.end))
    return after === undefined && before !== undefined ? [deletion(before, before + 1), line] : [line]
  }
  if (before !== undefined) return removeWithCommaBefore(text, item, before)
  return removeFirst(text, list, item, after)
}

function removeWithCommaBefore(text: string, item: Value, comma: number): Splice[] {
  const isNear = isBlank(text.slice(comma + 1, item.start))
  return isNear ? [deletion(comma, item.end)] : [deletion(comma, comma + 1), deletion(item.start, item.end)]
}

function removeFirst(text: string, list: List, item: Value, comma: number | undefined): Splice[] {
  const next = list.items[1]
  if (next === undefined) {
    const around =
      text.slice(list.start + 1, item.start) + text.slice((comma ?? item.end - 1) + 1, list.end - 1)
    if (/^[ \t]*$/.test(around)) return [deletion(list.start + 1, list.end - 1)]
  } else if (comma !== undefined && /^[ \t]*,[ \t]*$/.test(text.slice(item.end, next.start))) {
    return [deletion(item.start, next.start)]
  }
  return comma === undefined
    ? [deletion(item.start, item.end)]
    : [deletion(item.start, item.end), deletion(comma, comma + 1)]
}

/** Whether only the item, its comma and a comment are on its line. */
function hasOwnLine(text: string, list: List, index: number): boolean {
  const item = list.items[index]
  if (item === undefined || !isBlank(text.slice(lineStart(text, item.start), item.start))) return false
  const comma = list.commas[index]
  const end = nextLine(text, item.end)
  const isLast = index === list.items.length - 1
  if (comma === undefined ? !isLast : comma >= end) return false
  return /^[ \t]*(?:#.*)?\r?\n$/.test(text.slice(comma === undefined ? item.end : comma + 1, end))
}

function isBlank(text: string): boolean {
  return /^\s*$/.test(text)
}

/** Edits inside `{ … }`. TOML 1.0 allows no comments, line ends or trailing comma there. */

export function addInlinePair(inline: InlineTable, pair: string): Splice {
  const last = inline.pairs.at(-1)
  if (last === undefined) return { start: inline.start + 1, end: inline.end - 1, text: ` ${pair} ` }
  return insertion(last.value.end, `, ${pair}`)
}

export function removeInlinePairs(inline: InlineTable, removed: readonly Pair[]): Splice[] {
  const isRemoved = new Set(removed)
  const kept = inline.pairs.findIndex((pair) => !isRemoved.has(pair))
  const firstKept = inline.pairs[kept]
  if (firstKept === undefined) return [deletion(inline.start + 1, inline.end - 1)]
  const splices: Splice[] = []
  const first = inline.pairs[0]
  if (first !== undefined && kept > 0) splices.push(deletion(first.start, firstKept.start))
  for (const [index, pair] of inline.pairs.entries()) {
    const before = inline.pairs[index - 1]
    if (index < kept || before === undefined || !isRemoved.has(pair)) continue
    splices.push(deletion(before.value.end, pair.value.end))
  }
  return splices
}
