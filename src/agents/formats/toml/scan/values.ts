import type { Block, InlineTable, List, Pair, Value } from '../model.ts'
import { type Cursor, cannot, isLineEnd, skipBlanks, skipLines, take } from './cursor.ts'
import { scanScalar } from './scalars.ts'
import { scanShortString, scanString } from './strings.ts'
import { definePair, newTable } from './tables.ts'

/** Deeper than any person writes, and far from the depth at which a program falls over. */
const DEEPEST = 100
const BARE_NAME = /[A-Za-z0-9_-]+/y

/** Reads `a."b c".d` and leaves the cursor behind the last name. */
export function scanNames(cursor: Cursor): { names: string[]; end: number } {
  const names: string[] = []
  for (;;) {
    skipBlanks(cursor)
    names.push(scanName(cursor))
    const end = cursor.at
    skipBlanks(cursor)
    if (cursor.text[cursor.at] !== '.') return { names, end }
    if (names.length === DEEPEST)
      throw cannot(cursor.text, end, 'More than 100 names are joined by dots here')
    cursor.at += 1
  }
}

function scanName(cursor: Cursor): string {
  const { text, at } = cursor
  const quote = text[at]
  if (quote !== '"' && quote !== "'") {
    const name = take(cursor, BARE_NAME)
    if (name === '') throw cannot(text, at, 'A name was expected here')
    return name
  }
  if (text.startsWith(quote.repeat(3), at)) throw cannot(text, at, 'A name has one pair of quotes, not three')
  return scanShortString(cursor, quote)
}

/** Reads `name = value`. */
export function scanPair(cursor: Cursor, home: Block | InlineTable, depth: number): Pair {
  const { text, at: start } = cursor
  const { names, end: nameEnd } = scanNames(cursor)
  if (text[cursor.at] !== '=') throw cannot(text, cursor.at, "'=' was expected here, behind a name")
  cursor.at += 1
  skipBlanks(cursor)
  const value = scanValue(cursor, depth)
  return { type: 'pair', names, start, nameEnd, value, home }
}

function scanValue(cursor: Cursor, depth: number): Value {
  const { text, at: start } = cursor
  if (depth > DEEPEST) throw cannot(text, start, 'Lists and maps are nested more than 100 deep here')
  const first = text[start]
  if (first === '[') return scanList(cursor, depth)
  if (first === '{') return scanInlineTable(cursor, depth)
  const json = first === '"' || first === "'" ? scanString(cursor) : scanScalar(cursor)
  return { kind: 'scalar', start, end: cursor.at, json }
}

function scanList(cursor: Cursor, depth: number): List {
  const { text, at: start } = cursor
  const list: List = { kind: 'list', start, end: start, items: [], commas: [] }
  do {
    cursor.at += 1
    skipLines(cursor)
    if (text[cursor.at] === ']') break
    if (cursor.at >= text.length) throw cannot(text, start, "A list is not closed here; ']' is missing")
    list.items.push(scanValue(cursor, depth + 1))
    skipLines(cursor)
    if (text[cursor.at] === ',') list.commas.push(cursor.at)
  } while (text[cursor.at] === ',')
  if (cursor.at >= text.length) throw cannot(text, start, "A list is not closed here; ']' is missing")
  if (text[cursor.at] !== ']') throw cannot(text, cursor.at, "',' or ']' was expected here, in a list")
  cursor.at += 1
  list.end = cursor.at
  return list
}

function scanInlineTable(cursor: Cursor, depth: number): InlineTable {
  const { text, at: start } = cursor
  const inline = newInlineTable(start)
  do {
    cursor.at += 1
    skipBlanks(cursor)
    if (text[cursor.at] === '}' && inline.pairs.length === 0) break
    if (isLineEnd(cursor)) throw cannot(text, cursor.at, 'A map in braces must stay on one line')
    const pair = scanPair(cursor, inline, depth + 1)
    definePair(text, inline.table, pair)
    inline.pairs.push(pair)
    skipBlanks(cursor)
  } while (text[cursor.at] === ',')
  if (isLineEnd(cursor)) throw cannot(text, cursor.at, 'A map in braces must stay on one line')
  if (text[cursor.at] !== '}') throw cannot(text, cursor.at, "',' or '}' was expected here, in a map")
  cursor.at += 1
  inline.end = cursor.at
  return inline
}

function newInlineTable(start: number): InlineTable {
  const table = newTable({ by: 'implied' })
  const inline: InlineTable = { kind: 'inline', start, end: start, pairs: [], table }
  table.how = { by: 'inline', inline }
  return inline
}
