import { createHash } from 'node:crypto'
import { CannotEdit, type Position } from './format.ts'

/** Positions in a text, and replacements at several positions. */

export interface Splice {
  readonly start: number
  readonly end: number
  readonly text: string
}

/** Applies splices whose offsets all refer to the same text. */
export function spliced(text: string, splices: readonly Splice[]): string {
  let result = ''
  let at = 0
  for (const { start, end, text: added } of splices.toSorted((a, b) => a.start - b.start || a.end - b.end)) {
    result += text.slice(at, start) + added
    at = Math.max(at, end)
  }
  return result + text.slice(at)
}

export const insertion = (at: number, text: string): Splice => ({ start: at, end: at, text })
export const deletion = (start: number, end: number): Splice => ({ start, end, text: '' })

export function positionOf(text: string, offset: number): Position {
  const end = Math.max(0, Math.min(offset, text.length))
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < end; at = text.indexOf('\n', at + 1)) line += 1
  let column = 1
  for (const _ of text.slice(lineStart(text, end), end)) column += 1
  return { line, column }
}

/** The offset at which each line begins. */
export function lineStarts(text: string): number[] {
  const starts = [0]
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) starts.push(at + 1)
  return starts
}

/** The line of an offset, from 1. */
export function lineAt(starts: readonly number[], offset: number): number {
  let [low, high] = [0, starts.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((starts[middle] ?? 0) <= offset) low = middle + 1
    else high = middle
  }
  return low
}

/** Messages name keys and positions but never values, because those may be secrets. */
export function refusal(text: string, offset: number, message: string): CannotEdit {
  return new CannotEdit(message, positionOf(text, offset))
}

export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1
}

/** The end of the line, before its line end. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset)
  if (end < 0) return text.length
  return end > offset && text[end - 1] === '\r' ? end - 1 : end
}

/** The start of the next line, or the end of the text. */
export function nextLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset)
  return end < 0 ? text.length : end + 1
}

/** The indentation of the line at this offset. */
export function lineIndent(text: string, offset: number): string {
  const indent = /[ \t]*/y
  indent.lastIndex = lineStart(text, offset)
  return indent.exec(text)?.[0] ?? ''
}

/** The line end that most lines have. */
export function eolOf(text: string): '\n' | '\r\n' {
  let all = 0
  let windows = 0
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) {
    all += 1
    if (text[at - 1] === '\r') windows += 1
  }
  return windows * 2 > all ? '\r\n' : '\n'
}

/** Identifies a content, so that a caller can require that the file has not changed since it was read. */
export const revisionOf = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
