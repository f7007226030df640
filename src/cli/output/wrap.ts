import { clean, widthOf } from './line.ts'

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
