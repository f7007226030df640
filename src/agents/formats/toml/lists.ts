import { indentAt, lineEnd, lineStart, type Splice } from './lines.ts'
import type { List, TomlDoc, Value } from './model.ts'
import { indentUnit } from './style.ts'

/** Edits inside `[...]`. What is added can be taken out again to the same bytes. */

/** Puts an item behind the last one, in the way the list is written. */
export function addItem(doc: TomlDoc, eol: string, list: List, item: string): Splice[] {
  const last = list.items.at(-1)
  if (last === undefined) return [firstItem(doc, eol, list, item)]
  if (!hasOwnLine(doc.text, list, list.items.length - 1)) return [insert(last.end, `, ${item}`)]
  const indent = indentAt(doc.text, last.start)
  const hasTrailingComma = list.commas.length === list.items.length
  const line = `${indent}${item}${hasTrailingComma ? ',' : ''}${eol}`
  const added = insert(lineEnd(doc.text, last.end), line)
  return hasTrailingComma ? [added] : [insert(last.end, ','), added]
}

function firstItem(doc: TomlDoc, eol: string, list: List, item: string): Splice {
  const close = list.end - 1
  const inner = doc.text.slice(list.start + 1, close)
  if (!inner.includes('\n')) return { start: list.start + 1, end: close, text: item }
  const closeLine = lineStart(doc.text, close)
  const above = lineStart(doc.text, closeLine - 1)
  const comment = above > list.start ? /^([ \t]*)#/.exec(doc.text.slice(above, closeLine)) : null
  const indent = comment?.[1] ?? indentAt(doc.text, close) + indentUnit(doc)
  return insert(closeLine, `${indent}${item},${eol}`)
}

/** Takes out one item, its comma, and its line when it has one of its own. */
export function removeItem({ text }: TomlDoc, list: List, index: number): Splice[] {
  const item = list.items[index]
  if (item === undefined) return []
  const before = list.commas[index - 1]
  const after = list.commas[index]
  if (hasOwnLine(text, list, index)) {
    const line = cut(lineStart(text, item.start), lineEnd(text, item.end))
    return after === undefined && before !== undefined ? [cut(before, before + 1), line] : [line]
  }
  if (before !== undefined) return removeWithCommaBefore(text, item, before)
  return removeFirst(text, list, item, after)
}

function removeWithCommaBefore(text: string, item: Value, comma: number): Splice[] {
  const isNear = isBlank(text.slice(comma + 1, item.start))
  return isNear ? [cut(comma, item.end)] : [cut(comma, comma + 1), cut(item.start, item.end)]
}

function removeFirst(text: string, list: List, item: Value, comma: number | undefined): Splice[] {
  const next = list.items[1]
  if (next === undefined) {
    const around =
      text.slice(list.start + 1, item.start) + text.slice((comma ?? item.end - 1) + 1, list.end - 1)
    if (/^[ \t]*$/.test(around)) return [cut(list.start + 1, list.end - 1)]
  } else if (comma !== undefined && /^[ \t]*,[ \t]*$/.test(text.slice(item.end, next.start))) {
    return [cut(item.start, next.start)]
  }
  return comma === undefined
    ? [cut(item.start, item.end)]
    : [cut(item.start, item.end), cut(comma, comma + 1)]
}

/** Whether nothing but the item, its comma and a comment stands on its line. */
function hasOwnLine(text: string, list: List, index: number): boolean {
  const item = list.items[index]
  if (item === undefined || !isBlank(text.slice(lineStart(text, item.start), item.start))) return false
  const comma = list.commas[index]
  const end = lineEnd(text, item.end)
  const isLast = index === list.items.length - 1
  if (comma === undefined ? !isLast : comma >= end) return false
  return /^[ \t]*(?:#.*)?\r?\n$/.test(text.slice(comma === undefined ? item.end : comma + 1, end))
}

function isBlank(text: string): boolean {
  return /^\s*$/.test(text)
}

function insert(at: number, text: string): Splice {
  return { start: at, end: at, text }
}

function cut(start: number, end: number): Splice {
  return { start, end, text: '' }
}
