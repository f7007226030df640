import { refusal } from '../text-edits.ts'

/** A position in the text that moves forward while it is read. */
export interface Cursor {
  readonly text: string
  at: number
}

/** Returns what the pattern matches here and moves past it. The pattern must be sticky. */
export function take(cursor: Cursor, pattern: RegExp): string {
  const start = cursor.at
  pattern.lastIndex = start
  if (pattern.test(cursor.text)) cursor.at = pattern.lastIndex
  return cursor.text.slice(start, cursor.at)
}

const COMMENT = /#[\t\x20-\x7e\x80-\uffff]*/y

export function skipBlanks(cursor: Cursor): void {
  const { text } = cursor
  while (text[cursor.at] === ' ' || text[cursor.at] === '\t') cursor.at += 1
}

/** Skips blanks, comments and line ends. */
export function skipLines(cursor: Cursor): void {
  do {
    skipBlanks(cursor)
    skipComment(cursor)
  } while (skipLineEnd(cursor))
}

/** Only a comment may follow a pair or a header. */
export function skipRestOfLine(cursor: Cursor): void {
  skipBlanks(cursor)
  skipComment(cursor)
  if (cursor.at < cursor.text.length && !skipLineEnd(cursor)) {
    throw refusal(cursor.text, cursor.at, 'Expected a new line or a comment')
  }
}

function skipComment(cursor: Cursor): void {
  if (cursor.text[cursor.at] !== '#') return
  take(cursor, COMMENT)
  if (cursor.at < cursor.text.length && !isLineEnd(cursor)) {
    throw refusal(cursor.text, cursor.at, 'A comment contains a control character. Remove it')
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
