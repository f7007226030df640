import type { Format, LogLine } from '../../../logs/logs.schema.ts'

const COLUMNS = [
  'id',
  'ts',
  'level',
  'source',
  'stream',
  'server_id',
  'agent_type',
  'tool',
  'request_id',
  'message',
  'data',
  'repeat',
  'truncated',
] as const satisfies readonly (keyof LogLine)[]

/** How a download is written: what stands at its beginning, and each line with its line end. */
interface Formatter {
  readonly head: string
  readonly line: (line: LogLine) => string
}

export const FORMATTERS: Readonly<Record<Format, Formatter>> = {
  ndjson: { head: '', line: (line) => `${JSON.stringify(line)}\n` },
  text: { head: '', line: textLine },
  csv: { head: `${COLUMNS.join(',')}\r\n`, line: csvLine },
}

function textLine({ ts, level, source, server_id, message }: LogLine): string {
  const from = server_id === null ? source : `${source}/${server_id}`
  return `${ts} ${level.toUpperCase().padEnd(5)} ${visible(from)} ${visible(message)}\n`
}

/**
 * What could move the cursor, recolour the terminal, break the line or turn the reading direction is written
 * out. A backslash stays as it is: this format is for reading, ndjson is the exact one.
 */
function visible(text: string): string {
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
  const cells = COLUMNS.map((column) => {
    const value = line[column]
    if (value === null) return ''
    return cell(typeof value === 'object' ? JSON.stringify(value) : String(value))
  })
  return `${cells.join(',')}\r\n`
}

/** RFC 4180. A spreadsheet would run a cell that begins like a formula, so such a cell begins with an apostrophe. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}
