import { CannotEdit, type Place } from '../../format.ts'

/** A place in the text that moves on while it is read. */
export interface Cursor {
  readonly text: string
  at: number
}

const BOM = '\ufeff'

/** Behind the byte order mark, if there is one. */
export function bodyStart(text: string): number {
  return text.startsWith(BOM) ? 1 : 0
}

/** Moves over what the pattern matches here and gives it. The pattern must be sticky. */
export function take(cursor: Cursor, pattern: RegExp): string {
  const start = cursor.at
  pattern.lastIndex = start
  if (pattern.test(cursor.text)) cursor.at = pattern.lastIndex
  return cursor.text.slice(start, cursor.at)
}

export function cannot(text: string, offset: number, message: string): CannotEdit {
  return new CannotEdit(message, placeAt(text, offset))
}

export function placeAt(text: string, offset: number): Place {
  const end = Math.min(Math.max(offset, bodyStart(text)), text.length)
  let line = 1
  let lineStart = bodyStart(text)
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) {
    line += 1
    lineStart = at + 1
  }
  let column = 1
  for (const _ of text.slice(lineStart, end)) column += 1
  return { line, column }
}

const COMMENT = /#[\t\x20-\x7e\x80-\uffff]*/y

export function skipBlanks(cursor: Cursor): void {
  const { text } = cursor
  while (text[cursor.at] === ' ' || text[cursor.at] === '\t') cursor.at += 1
}

/** Blanks, comments and ends of lines. */
export function skipLines(cursor: Cursor): void {
  do {
    skipBlanks(cursor)
    skipComment(cursor)
  } while (skipLineEnd(cursor))
}

/** Nothing but a comment may stand behind a pair or a header. */
export function skipRestOfLine(cursor: Cursor): void {
  skipBlanks(cursor)
  skipComment(cursor)
  if (cursor.at < cursor.text.length && !skipLineEnd(cursor)) {
    throw cannot(cursor.text, cursor.at, 'A new line was expected here; only a comment may stand behind')
  }
}

function skipComment(cursor: Cursor): void {
  if (cursor.text[cursor.at] !== '#') return
  take(cursor, COMMENT)
  if (cursor.at < cursor.text.length && !isLineEnd(cursor)) {
    throw cannot(cursor.text, cursor.at, 'A comment holds a control character here; take it out')
  }
}

function skipLineEnd(cursor: Cursor): boolean {
  if (!isLineEnd(cursor)) return false
  cursor.at += cursor.text[cursor.at] === '\r' ? 2 : 1
  return true
}

export function isLineEnd({ text, at }: Cursor): boolean {
  return text[at] === '\n' || (text[at] === '\r' && text[at + 1] === '\n')
}
