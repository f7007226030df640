import { refusal } from '../../text.ts'
import type { Block, InlineTable, List, Pair, Value } from '../model.ts'
import { type Cursor, isLineEnd, skipBlanks, skipLines, take } from './cursor.ts'
import { scanScalar } from './scalars.ts'
import { scanShortString, scanString } from './strings.ts'
import { definePair, newTable } from './tables.ts'

/** Deeper than any useful file, and far from the depth at which recursion exhausts the stack. */
const MAX_DEPTH = 100
const BARE_NAME = /[A-Za-z0-9_-]+/y

/** Reads `a."b c".d`. */
export function scanNames(cursor: Cursor): { names: string[]; end: number } {
  const names: string[] = []
  for (;;) {
    skipBlanks(cursor)
    names.push(scanName(cursor))
    const end = cursor.at
    skipBlanks(cursor)
    if (cursor.text[cursor.at] !== '.') return { names, end }
    if (names.length === MAX_DEPTH)
      throw refusal(cursor.text, end, `More than ${MAX_DEPTH} names are joined by dots`)
    cursor.at += 1
  }
}

function scanName(cursor: Cursor): string {
  const { text, at } = cursor
  const quote = text[at]
  if (quote !== '"' && quote !== "'") {
    const name = take(cursor, BARE_NAME)
    if (name === '')
      throw refusal(text, at, "Expected a name of letters, digits, '_' and '-', or a quoted name")
    return name
  }
  if (text.startsWith(quote.repeat(3), at)) throw refusal(text, at, 'A name cannot be a multi-line string')
  return scanShortString(cursor, quote)
}

/** Reads `name = value`. */
export function scanPair(cursor: Cursor, home: Block | InlineTable, depth: number): Pair {
  const { text, at: start } = cursor
  const { names, end: nameEnd } = scanNames(cursor)
  if (text[cursor.at] !== '=') throw refusal(text, cursor.at, "Expected '=' after a name")
  cursor.at += 1
  skipBlanks(cursor)
  const value = scanValue(cursor, depth + names.length - 1) // each name is a level
  return { type: 'pair', names, start, nameEnd, value, home }
}

function scanValue(cursor: Cursor, depth: number): Value {
  const { text, at: start } = cursor
  if (depth > MAX_DEPTH)
    throw refusal(text, start, `Lists and tables are nested more than ${MAX_DEPTH} levels deep`)
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
    if (cursor.at >= text.length) throw refusal(text, start, "The list is not closed: ']' is missing")
    list.items.push(scanValue(cursor, depth + 1))
    skipLines(cursor)
    if (text[cursor.at] === ',') list.commas.push(cursor.at)
  } while (text[cursor.at] === ',')
  if (cursor.at >= text.length) throw refusal(text, start, "The list is not closed: ']' is missing")
  if (text[cursor.at] !== ']') throw refusal(text, cursor.at, "Expected ',' or ']' in a list")
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
    if (isLineEnd(cursor)) throw refusal(text, cursor.at, 'An inline table must be on one line')
    const pair = scanPair(cursor, inline, depth + 1)
    definePair(text, inline.table, pair)
    inline.pairs.push(pair)
    skipBlanks(cursor)
  } while (text[cursor.at] === ',')
  if (isLineEnd(cursor)) throw refusal(text, cursor.at, 'An inline table must be on one line')
  if (text[cursor.at] !== '}') throw refusal(text, cursor.at, "Expected ',' or '}' in an inline table")
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
