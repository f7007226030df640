import { deletion, eolOf, insertion, lineEnd, lineStart, nextLine, type Splice } from '../text.ts'

export function columnOf(text: string, offset: number): number {
  return offset - lineStart(text, offset)
}

/** The start of the next line after something that ends here. A block scalar includes its last line end. */
export function afterLine(text: string, end: number): number {
  return end > 0 && text[end - 1] === '\n' ? end : nextLine(text, end)
}

/** After the comment lines that are indented to at least this column, and the blank lines between them. */
export function afterComments(text: string, from: number, column: number): number {
  let end = from
  for (let at = from; at < text.length; at = nextLine(text, at)) {
    const line = text.slice(at, lineEnd(text, at))
    const first = line.search(/[^ \t]/)
    if (first < 0) continue
    if (line[first] !== '#' || first < column) break
    end = nextLine(text, at)
  }
  return end
}

/** Inserts lines. After a last line without a line end, the new last line has none either. */
export function insertLines(text: string, at: number, lines: readonly string[]): Splice {
  const eol = eolOf(text)
  const hangs = at > 0 && text[at - 1] !== '\n'
  const added = lines.join(eol)
  return insertion(at, hangs ? eol + added : added + eol)
}

/** Deletes whole lines. If the text ends without a line end, the new last line has none either. */
export function deleteLines(text: string, start: number, end: number): Splice {
  const hangs = end === text.length && end > start && text[end - 1] !== '\n'
  return deletion(hangs && start > 0 ? lineEnd(text, lineStart(text, start - 1)) : start, end)
}

/** The end of the last line, before its line end. */
export function endOfLastLine(text: string, end: number): number {
  if (text[end - 1] !== '\n') return lineEnd(text, end)
  return end - (text[end - 2] === '\r' ? 2 : 1)
}
