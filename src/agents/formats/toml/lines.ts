import type { Block, Pair, TomlDoc } from './model.ts'
import { bodyStart } from './scan/cursor.ts'

/** An edit is a list of these, all against the same text. */
export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/**
 * The text made ready for edits line by line: the last line is given its end while the edit goes on, and loses it
 * again afterwards. So a file without a final newline stays one.
 */
export interface Lines {
  readonly text: string
  readonly eol: string
  readonly wasOpen: boolean
}

export function linesOf(text: string): Lines {
  const eol = lineEndOf(text)
  const wasOpen = text.length > bodyStart(text) && !text.endsWith('\n')
  return { text: wasOpen ? text + eol : text, eol, wasOpen }
}

/** The line end that most lines have. */
function lineEndOf(text: string): string {
  let all = 0
  let withReturn = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    all += 1
    if (text[at - 1] === '\r') withReturn += 1
  }
  return withReturn * 2 > all ? '\r\n' : '\n'
}

export function applied({ text, wasOpen }: Lines, splices: readonly Splice[]): string {
  let edited = ''
  let at = 0
  for (const splice of [...splices].sort((a, b) => a.start - b.start)) {
    if (splice.start > at) edited += text.slice(at, splice.start)
    edited += splice.text
    at = Math.max(at, splice.end)
  }
  edited += text.slice(at)
  return wasOpen ? edited.replace(/\r?\n$/, '') : edited
}

export function lineStart(text: string, offset: number): number {
  return offset === 0 ? bodyStart(text) : Math.max(text.lastIndexOf('\n', offset - 1) + 1, bodyStart(text))
}

/** Behind the line end. */
export function lineEnd(text: string, offset: number): number {
  const found = text.indexOf('\n', offset)
  return found === -1 ? text.length : found + 1
}

export function isBlankLine(text: string, start: number): boolean {
  return start < text.length && /^\s*$/.test(text.slice(start, lineEnd(text, start)))
}

export function isCommentLine(text: string, start: number): boolean {
  return /^[ \t]*#/.test(text.slice(start, lineEnd(text, start)))
}

/** The blanks before the first character of the line. */
export function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? ''
}

export function pairLines(text: string, pair: Pair): { start: number; end: number } {
  return { start: lineStart(text, pair.start), end: lineEnd(text, pair.value.end) }
}

/** From the header to the last pair; comments behind that belong to what follows. */
export function blockLines(text: string, { header, pairs }: Block): { start: number; end: number } {
  const first = header?.start ?? pairs[0]?.start ?? 0
  const last = pairs.at(-1)?.value.end ?? header?.end ?? first
  return { start: lineStart(text, first), end: lineEnd(text, last) }
}

/** Behind the last line that says something, a comment too. */
export function endOfContent(text: string): number {
  const end = text.trimEnd().length
  return end <= bodyStart(text) ? bodyStart(text) : lineEnd(text, end)
}

/** Whether the tables of this file follow each other without an empty line. */
export function isDense({ text, blocks }: TomlDoc): boolean {
  let headers = 0
  for (const { header } of blocks) {
    if (header === undefined) continue
    const start = aboveComments(text, lineStart(text, header.start))
    if (start === bodyStart(text)) continue
    if (isBlankLine(text, lineStart(text, start - 1))) return false
    headers += 1
  }
  return headers > 0
}

/** Where the comment lines directly above this line begin. */
export function aboveComments(text: string, start: number): number {
  let at = start
  while (at > bodyStart(text)) {
    const above = lineStart(text, at - 1)
    if (!isCommentLine(text, above)) break
    at = above
  }
  return at
}
