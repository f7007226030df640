import { refusal } from '../text-edits.ts'
import { type Cursor, isLineEnd, skipBlanks, skipLines, skipRestOfLine, take } from './toml-cursor.ts'
import {
  type Block,
  defineBlock,
  definePair,
  type Header,
  type InlineTable,
  type List,
  newTable,
  type Pair,
  type Table,
  type TomlDoc,
  type Value,
} from './toml-model.ts'
import { scanShortString, scanString } from './toml-scan-strings.ts'

/** Parses TOML 1.0 with the positions of everything in it. Throws for what TOML 1.0 forbids. */
export function scanToml(text: string): TomlDoc {
  const cursor: Cursor = { text, at: 0 }
  let block: Block = { header: undefined, pairs: [] }
  const blocks = [block]
  const root = newTable({ by: 'block', block })
  let table: Table = root
  for (skipLines(cursor); cursor.at < text.length; skipLines(cursor)) {
    if (text[cursor.at] === '[') {
      const header = scanHeader(cursor)
      block = { header, pairs: [] }
      blocks.push(block)
      table = defineBlock(text, root, block, header)
    } else {
      const pair = scanPair(cursor, block, 1)
      definePair(text, table, pair)
      block.pairs.push(pair)
    }
    skipRestOfLine(cursor)
  }
  return { text, root, blocks }
}

function scanHeader(cursor: Cursor): Header {
  const { text, at: start } = cursor
  const isArray = text[start + 1] === '['
  cursor.at += isArray ? 2 : 1
  const { names } = scanNames(cursor)
  const close = isArray ? ']]' : ']'
  if (!text.startsWith(close, cursor.at)) {
    throw refusal(text, cursor.at, `Expected '${close}' after a table name`)
  }
  cursor.at += close.length
  return { names, isArray, start, end: cursor.at }
}

/** Deeper than any useful file, and far from the depth at which recursion exhausts the stack. */
const MAX_DEPTH = 100
const BARE_NAME = /[A-Za-z0-9_-]+/y

/** Reads `a."b c".d`. */
function scanNames(cursor: Cursor): { names: string[]; end: number } {
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
function scanPair(cursor: Cursor, home: Block | InlineTable, depth: number): Pair {
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

const DATE = '\\d{4}-\\d{2}-\\d{2}'
const TIME = '\\d{2}:\\d{2}:\\d{2}(?:\\.\\d+)?'
const MOMENT = new RegExp(`${DATE}(?:[Tt ]${TIME}(?:[Zz]|[+-]\\d{2}:\\d{2})?)?|${TIME}`, 'y')
const MOMENT_PARTS =
  /^(?:(\d{4})-(\d{2})-(\d{2}))?[Tt ]?(?:(\d{2}):(\d{2}):(\d{2})(?:\.(\d+))?)?([Zz]|[+-](\d{2}):(\d{2}))?$/
const WORD = /[A-Za-z0-9_+.:-]+/y
/** Longer than any useful number, so that the patterns below never run on megabytes. */
const MAX_NUMBER_LENGTH = 1000

const INTEGER = /^[+-]?(?:0|[1-9](?:_?\d)*)$/
const WITH_BASE = /^0(?:x[0-9A-Fa-f](?:_?[0-9A-Fa-f])*|o[0-7](?:_?[0-7])*|b[01](?:_?[01])*)$/
const FLOAT = /^[+-]?(?:0|[1-9](?:_?\d)*)(?:\.\d(?:_?\d)*)?(?:[eE][+-]?\d(?:_?\d)*)?$/
const WORDS: Readonly<Record<string, boolean | number>> = {
  true: true,
  false: false,
  inf: Number.POSITIVE_INFINITY,
  '+inf': Number.POSITIVE_INFINITY,
  '-inf': Number.NEGATIVE_INFINITY,
  nan: Number.NaN,
  '+nan': Number.NaN,
  '-nan': Number.NaN,
}

/** Reads a number, a boolean or a date. Dates become strings in a normal form. */
function scanScalar(cursor: Cursor): boolean | number | string {
  const { text, at: start } = cursor
  const moment = take(cursor, MOMENT)
  const word = take(cursor, WORD)
  if (moment !== '' && word === '') {
    const iso = isoOf(moment)
    if (iso === undefined) throw refusal(text, start, 'This date or time does not exist')
    return iso
  }
  const value = moment === '' && word.length <= MAX_NUMBER_LENGTH ? numberOrBoolean(word) : undefined
  if (value !== undefined) return value
  throw refusal(text, start, 'Expected a value. Strings need quotes')
}

function numberOrBoolean(word: string): boolean | number | undefined {
  if (Object.hasOwn(WORDS, word)) return WORDS[word]
  const digits = word.replaceAll('_', '')
  if (INTEGER.test(word)) return integerOf(digits.replace(/^[+-]/, ''), digits.startsWith('-'))
  if (WITH_BASE.test(word)) return integerOf(digits, false)
  return FLOAT.test(word) ? Number(digits) : undefined
}

const MAX_INTEGER = 2n ** 63n - 1n

/** TOML guarantees 64 bits. Parsers disagree about larger numbers. */
function integerOf(digits: string, isNegative: boolean): number | undefined {
  const size = BigInt(digits)
  if (size > MAX_INTEGER + (isNegative ? 1n : 0n)) return undefined
  return Number(isNegative ? -size : size)
}

/** With milliseconds and capital T and Z, as the second parser writes it; undefined for an invalid date. */
function isoOf(moment: string): string | undefined {
  const [, year, month, day, hour, minute, second, fraction, zone, zoneHour, zoneMinute] =
    MOMENT_PARTS.exec(moment) ?? []
  if (year !== undefined && !isDay(Number(year), Number(month), Number(day))) return undefined
  const date = year === undefined ? '' : `${year}-${month}-${day}`
  if (hour === undefined) return date
  if (Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59) return undefined
  if (Number(zoneHour ?? 0) > 23 || Number(zoneMinute ?? 0) > 59) return undefined
  const millis = (fraction ?? '').slice(0, 3).padEnd(3, '0')
  const time = `${hour}:${minute}:${second}.${millis}${zone?.toUpperCase() ?? ''}`
  return date === '' ? time : `${date}T${time}`
}

const DAYS = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]

function isDay(year: number, month: number, day: number): boolean {
  if (day < 1 || day > (DAYS[month - 1] ?? 0)) return false
  const isLeap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0
  return month !== 2 || day < 29 || isLeap
}
