import { type Cursor, cannot, isLineEnd, take } from './cursor.ts'

/** Reads any of the four kinds of string; the cursor stands on its first quote. */
export function scanString(cursor: Cursor): string {
  const quote = cursor.text[cursor.at] === '"' ? '"' : "'"
  if (cursor.text.startsWith(quote.repeat(3), cursor.at)) return scanLongString(cursor, quote)
  return scanShortString(cursor, quote)
}

/** What may stand in a string as it is: no quote of its own kind, no control character but the tab. */
const PLAIN = {
  '"': /[\t !#-[\]-~\x80-\uffff]*/y,
  "'": /[\t -&(-~\x80-\uffff]*/y,
}
/** As above, with ends of lines. */
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
    else if (next === undefined || isLineEnd(cursor)) throw cannot(text, start, 'A quote is not closed here')
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
    if (next === undefined) throw cannot(text, start, 'Three quotes are not closed here')
    if (next === quote) {
      const quotes = countQuotes(cursor, quote)
      cursor.at += quotes
      // Up to two quotes may stand directly before the three that close it.
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

/** A backslash at the end of a line takes all blanks and ends of lines that follow out of the string. */
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
  throw cannot(text, start, "A backslash begins no escape of TOML 1.0 here; write '\\\\' for a backslash")
}

function controlCharacter({ text, at }: Cursor): Error {
  return cannot(text, at, 'A string holds a control character here; write it as an escape')
}
