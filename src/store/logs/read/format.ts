import type { Format, LogLine } from '../../../observe/logs/logs.schema.ts'
import { LINE_COLUMNS } from '../schema.ts'

/** A download format: its header, and each line including the line end. */
interface Formatter {
  readonly head: string
  readonly line: (line: LogLine) => string
}

export const FORMATTERS: Readonly<Record<Format, Formatter>> = {
  ndjson: { head: '', line: (line) => `${JSON.stringify(line)}\n` },
  text: { head: '', line: textLine },
  csv: { head: `${LINE_COLUMNS.join(',')}\r\n`, line: csvLine },
}

function textLine({ ts, level, source, server_id, message }: LogLine): string {
  const from = server_id === null ? source : `${source}/${server_id}`
  return `${ts} ${level.toUpperCase().padEnd(5)} ${escaped(from)} ${escaped(message)}\n`
}

/**
 * Escapes characters that could move the cursor, change terminal colours, break the line or reverse the text
 * direction. A backslash is not escaped: this format is for reading, ndjson is exact.
 */
function escaped(text: string): string {
  return text.replace(UNSAFE, (character) => {
    const short = SHORT.get(character)
    if (short) return short
    const code = character.charCodeAt(0)
    return code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`
  })
}
const UNSAFE = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu
const SHORT = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
])
const hex = (code: number, digits: number) => code.toString(16).padStart(digits, '0')

function csvLine(line: LogLine): string {
  const cells = LINE_COLUMNS.map((column) => {
    const value = line[column]
    if (value === null) return ''
    return cell(typeof value === 'object' ? JSON.stringify(value) : String(value))
  })
  return `${cells.join(',')}\r\n`
}

/** RFC 4180. An apostrophe in front keeps spreadsheets from running a cell as a formula. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
