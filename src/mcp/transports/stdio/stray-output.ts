import { printableLine } from '../../../kernel/secrets/printable-line.ts'
import { LOG_LINE_MAX_BYTES } from '../../protocol/frames.ts'

const FIRST_MAX_CHARS = 200
const MAX_BYTES_PER_CHAR = 4

/** Lines on a server's stdout that are not messages. */
export class StrayOutput {
  lines = 0
  /** The first line that is not blank, shortened. */
  first: string | undefined

  /** The line for the log, decoded up to the limit. `cut` counts all bytes that are missing. */
  add(bytes: Buffer, cut: number): { readonly text: string; readonly cut: number } {
    this.lines += 1
    this.first ??= printableLine(
      bytes.toString('utf8', 0, FIRST_MAX_CHARS * MAX_BYTES_PER_CHAR),
      FIRST_MAX_CHARS,
    )
    const end = bytes.length > LOG_LINE_MAX_BYTES ? characterStart(bytes, LOG_LINE_MAX_BYTES) : bytes.length
    return { text: bytes.toString('utf8', 0, end), cut: cut + bytes.length - end }
  }
}

/** Where the UTF-8 character at this byte begins. */
function characterStart(bytes: Buffer, at: number): number {
  let start = at
  while (start > at - MAX_BYTES_PER_CHAR && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  return start
}
