import { refusal } from '../text-edits.ts'
import { type Cursor, isLineEnd, take } from './toml-cursor.ts'

/** Reads any of the four kinds of string. The cursor is at the first quote. */
export function scanString(cursor: Cursor): string {
  const quote = cursor.text[cursor.at] === '"' ? '"' : "'"
  if (cursor.text.startsWith(quote.repeat(3), cursor.at)) return scanLongString(cursor, quote)
  return scanShortString(cursor, quote)
}

/** Characters that need no escape: no quote of the same kind, no control character except the tab. */
const PLAIN = {
  '"': /[\t !#-[\]-~\x80-\uffff]*/y,
  "'": /[\t -&(-~\x80-\uffff]*/y,
}
/** The same, with line ends. */
const PLAIN_LINES = {
  '"': /[\t\n !#-[\]-~\x80-\uffff]*/y,
  "'": /[\t\n -&(-~\x80-\uffff]*/y,
}
type Quote = keyof typeof PLAIN

export function scanShortString(cursor: Cursor, quote: Quote): string {
  const { text, at: start } = cursor
  cursor.at += 1
  let value = ''
  for (;;) {
    value += take(cursor, PLAIN[quote])
    const next = text[cursor.at]
    if (next === quote) break
    if (next === '\\') value += scanEscape(cursor)
    else if (next === undefined || isLineEnd(cursor)) throw refusal(text, start, 'The string is not closed')
    else throw controlCharacter(cursor)
  }
  cursor.at += 1
  return value
}

function scanLongString(cursor: Cursor, quote: Quote): string {
  const { text, at: start } = cursor
  cursor.at += 3
  if (isLineEnd(cursor)) cursor.at += text[cursor.at] === '\r' ? 2 : 1
  let value = ''
  for (;;) {
    value += take(cursor, PLAIN_LINES[quote])
    const next = text[cursor.at]
    if (next === undefined) throw refusal(text, start, 'The multi-line string is not closed')
    if (next === quote) {
      const quotes = countQuotes(cursor, quote)
      cursor.at += quotes
      // Up to two quotes may directly precede the closing three.
      if (quotes >= 3) return value + quote.repeat(quotes - 3)
      value += quote.repeat(quotes)
    } else if (next === '\\') {
      value += skipEscapedLineEnd(cursor) ? '' : scanEscape(cursor)
    } else if (isLineEnd(cursor)) {
      value += '\r\n'
      cursor.at += 2
    } else {
      throw controlCharacter(cursor)
    }
  }
}

function countQuotes({ text, at }: Cursor, quote: Quote): number {
  let count = 1
  while (count < 5 && text[at + count] === quote) count += 1
  return count
}

const ESCAPED_BLANKS = /\\[ \t]*/y
const BLANKS = /[ \t]+/y

/** A backslash at the end of a line removes the blanks and line ends that follow. */
function skipEscapedLineEnd(cursor: Cursor): boolean {
  const { at: start } = cursor
  take(cursor, ESCAPED_BLANKS)
  if (!isLineEnd(cursor)) {
    cursor.at = start
    return false
  }
  while (isLineEnd(cursor) || take(cursor, BLANKS) !== '') {
    if (isLineEnd(cursor)) cursor.at += cursor.text[cursor.at] === '\r' ? 2 : 1
  }
  return true
}

const ESCAPES: Readonly<Record<string, string>> = {
  b: '\b',
  t: '\t',
  n: '\n',
  f: '\f',
  r: '\r',
  '"': '"',
  '\\': '\\',
}
const CODE_POINT = /u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}/y

function scanEscape(cursor: Cursor): string {
  const { text, at: start } = cursor
  cursor.at += 1
  const simple = ESCAPES[text[cursor.at] ?? '']
  if (simple !== undefined) {
    cursor.at += 1
    return simple
  }
  const code = Number.parseInt(take(cursor, CODE_POINT).slice(1), 16)
  const isSurrogate = code >= 0xd800 && code <= 0xdfff
  if (code <= 0x10ffff && !isSurrogate) return String.fromCodePoint(code)
  throw refusal(text, start, "Unknown escape. Write '\\\\' for a backslash")
}

function controlCharacter({ text, at }: Cursor): Error {
  return refusal(text, at, 'A string contains a control character. Write it as an escape')
}
