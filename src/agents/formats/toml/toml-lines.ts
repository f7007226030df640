import { eolOf, lineStart, nextLine, type Splice, spliced } from '../text-edits.ts'
import type { Block, Pair, TomlDoc } from './toml-model.ts'

/**
 * A text prepared for edits of whole lines. A missing line end after the last line is added before the edit and
 * removed again after it.
 */
export interface Lines {
  readonly text: string
  readonly eol: string
  readonly wasOpen: boolean
}

export function linesOf(text: string): Lines {
  const eol = eolOf(text)
  const wasOpen = text !== '' && !text.endsWith('\n')
  return { text: wasOpen ? text + eol : text, eol, wasOpen }
}

export function applied({ text, wasOpen }: Lines, splices: readonly Splice[]): string {
  const edited = spliced(text, splices)
  return wasOpen ? edited.replace(/\r?\n$/, '') : edited
}

export function isBlankLine(text: string, start: number): boolean {
  return start < text.length && /^\s*$/.test(text.slice(start, nextLine(text, start)))
}

export function isCommentLine(text: string, start: number): boolean {
  return /^[ \t]*#/.test(text.slice(start, nextLine(text, start)))
}

export function pairLines(text: string, pair: Pair): { start: number; end: number } {
  return { start: lineStart(text, pair.start), end: nextLine(text, pair.value.end) }
}

/** From the header to the last pair. Comments after that belong to the next block. */
export function blockLines(text: string, { header, pairs }: Block): { start: number; end: number } {
  const first = header?.start ?? pairs[0]?.start ?? 0
  const last = pairs.at(-1)?.value.end ?? header?.end ?? first
  return { start: lineStart(text, first), end: nextLine(text, last) }
}

/** After the last line that is not blank. */
export function endOfContent(text: string): number {
  const end = text.trimEnd().length
  return end === 0 ? 0 : nextLine(text, end)
}

/** Whether the tables of this file follow each other without an empty line. */
export function isDense({ text, blocks }: TomlDoc): boolean {
  let headers = 0
  for (const { header } of blocks) {
    if (header === undefined) continue
    const start = aboveComments(text, lineStart(text, header.start))
    if (start === 0) continue
    if (isBlankLine(text, lineStart(text, start - 1))) return false
    headers += 1
  }
  return headers > 0
}

/** Where the comment lines directly above this line begin. */
export function aboveComments(text: string, start: number): number {
  let at = start
  while (at > 0) {
    const above = lineStart(text, at - 1)
    if (!isCommentLine(text, above)) break
    at = above
  }
  return at
}
