import type { Table } from './command-context.ts'
import { clean, cutSpan, type Line, type Span, textOf, widthOf } from './printed-line.ts'

const GAP = 2
const NARROWEST = 6

/** The lines of a table, at most `width` columns wide. The widest columns are cut first. */
export function columns({ head, rows }: Table, width: number | undefined): Line[] {
  const all = head ? [head, ...rows] : rows
  const widths = (all[0] ?? []).map((_, at) =>
    Math.max(...all.map((row) => widthOf(clean(textOf(row[at] ?? ''))))),
  )
  if (width !== undefined) shrink(widths, width)
  return all.map((row, index) =>
    row.flatMap((span, at): Span[] => {
      const room = widths[at] ?? 0
      const shown = cutSpan(span, room)
      const isLast = at === row.length - 1
      const pad = isLast ? '' : ' '.repeat(room - widthOf(textOf(shown)) + GAP)
      return [at === 0 ? '  ' : '', head && index === 0 ? { text: textOf(shown), tone: 'dim' } : shown, pad]
    }),
  )
}

function shrink(widths: number[], width: number): void {
  const total = () => widths.reduce((sum, one) => sum + one + GAP, 0)
  while (total() > width) {
    const widest = Math.max(...widths)
    if (widest <= NARROWEST) return
    widths[widths.lastIndexOf(widest)] = widest - 1
  }
}

/**
 * A text after `first`, broken between words so that it fits the width, with later lines below the beginning of the text. A
 * stream that is no terminal has no width, and gets one line.
 */
export function hanging(first: string, text: string, width: number | undefined): string[] {
  const indent = ' '.repeat(widthOf(first))
  if (width === undefined || indent.length > width / 2) return [first + text]
  const lines: string[] = []
  let line = first
  for (const word of clean(text).trim().split(/ +/)) {
    const isEmpty = line === first || line === indent
    if (!isEmpty && widthOf(line) + 1 + widthOf(word) > width) {
      lines.push(line)
      line = indent + word
    } else line += isEmpty ? word : ` ${word}`
  }
  return [...lines, line]
}
