import { CannotEdit, type Place } from '../format.ts'

/** Lines and columns, and changes of a text at several places. Offsets are those of the old text. */

export interface Splice {
  readonly from: number
  readonly to: number
  readonly text: string
}

export function splice(text: string, splices: readonly Splice[]): string {
  let result = ''
  let at = 0
  for (const { from, to, text: added } of splices.toSorted((a, b) => a.from - b.from || a.to - b.to)) {
    result += text.slice(at, from) + added
    at = to
  }
  return result + text.slice(at)
}

export function refuse(text: string, offset: number, message: string): never {
  throw new CannotEdit(message, placeOf(text, offset))
}

export function placeOf(text: string, offset: number): Place {
  const at = Math.max(0, Math.min(offset, text.length))
  let line = 1
  for (let end = text.indexOf('\n'); end >= 0 && end < at; end = text.indexOf('\n', end + 1)) line += 1
  return { line, column: [...text.slice(lineStart(text, at), at)].length + 1 }
}

export function lineStart(text: string, offset: number): number {
  return offset === 0 ? 0 : text.lastIndexOf('\n', offset - 1) + 1
}

/** Where the next line begins, or the end of the text. */
export function nextLine(text: string, offset: number): number {
  const end = text.indexOf('\n', offset)
  return end < 0 ? text.length : end + 1
}

/** The end of the line without its line end. */
export function lineEnd(text: string, offset: number): number {
  const end = text.indexOf('\n', offset)
  if (end < 0) return text.length
  return end > offset && text[end - 1] === '\r' ? end - 1 : end
}

export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset)
}

/** Behind the line of the last character of something that ends here. A block scalar takes its line end along. */
export function behindLine(text: string, end: number): number {
  return end > 0 && text[end - 1] === '\n' ? end : nextLine(text, end)
}

/** Behind the comment lines that stand in at least this column, with blank lines between them. */
export function behindComments(text: string, from: number, column: number): number {
  let behind = from
  for (let at = from; at < text.length; at = nextLine(text, at)) {
    const line = text.slice(at, lineEnd(text, at))
    const first = line.search(/[^ \t]/)
    if (first < 0) continue
    if (line[first] !== '#' || first < column) break
    behind = nextLine(text, at)
  }
  return behind
}

export function eolOf(text: string): '\n' | '\r\n' {
  let crlf = 0
  let all = 0
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) {
    all += 1
    if (text[at - 1] === '\r') crlf += 1
  }
  return crlf * 2 > all ? '\r\n' : '\n'
}

/** New lines at the begin of a line, or behind a last line that has no line end; then the new last line has none. */
export function insertLines(text: string, at: number, lines: readonly string[]): Splice {
  const eol = eolOf(text)
  const hangs = at > 0 && text[at - 1] !== '\n'
  const added = lines.join(eol)
  return { from: at, to: at, text: hangs ? eol + added : added + eol }
}

/** Takes out whole lines. When they end a text without a last line end, the new last line has none either. */
export function deleteLines(text: string, from: number, to: number): Splice {
  const hangs = to === text.length && to > from && text[to - 1] !== '\n'
  return { from: hangs && from > 0 ? lineEnd(text, lineStart(text, from - 1)) : from, to, text: '' }
}
