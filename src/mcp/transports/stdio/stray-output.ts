import { LOG_LINE_MAX_BYTES } from '../../../protocol/frames.ts'

const FIRST_MAX_CHARS = 200
const WORST_BYTES_PER_CHAR = 4

/** What a server wrote where only messages belong. */
export class Noise {
  lines = 0
  /** The first line that has something to read, cut. */
  first: string | undefined

  /** The line for the log: never more than its limit is decoded. `cut` counts all bytes that are missing. */
  hear(bytes: Buffer, cut: number): { readonly text: string; readonly cut: number } {
    this.lines += 1
    this.first ??= quotable(
      bytes.toString('utf8', 0, FIRST_MAX_CHARS * WORST_BYTES_PER_CHAR),
      FIRST_MAX_CHARS,
    )
    const end = bytes.length > LOG_LINE_MAX_BYTES ? characterStart(bytes, LOG_LINE_MAX_BYTES) : bytes.length
    return { text: bytes.toString('utf8', 0, end), cut: cut + bytes.length - end }
  }
}

/** Foreign text inside a sentence of ours: one line, nothing that moves a terminal's cursor. Undefined when blank. */
export function quotable(text: string, maxChars: number): string | undefined {
  const line = text
    .slice(0, maxChars * 2)
    .replace(UNPRINTABLE, ' ')
    .trim()
  return line === '' ? undefined : line.slice(0, maxChars).toWellFormed()
}

/** Control characters, with the rest of a colour code behind them, and what turns or breaks a line. */
const UNPRINTABLE = /(?:\p{Cc}(?:\[[\d;?]+[A-Za-z])?|[\p{Zl}\p{Zp}\p{Bidi_Control}])+/gu

/** Where the character at this byte begins. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at
  while (start > at - WORST_BYTES_PER_CHAR && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  return start
}
