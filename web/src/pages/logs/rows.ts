import type { ShownLine } from './view.ts'

/** A row of the list: a line, perhaps with the lines of a stack trace folded into it. */
export interface LineRow {
  readonly line: ShownLine
  /** How many lines of the trace follow. */
  readonly trace: number
  /** It is a line of the trace of the row above. */
  readonly isTrace: boolean
}

const TRACE = /^\s+\S/
/** Lines of one trace are written together. */
const TOGETHER_MS = 2000

/** Stack traces are folded into their first line, except those that are opened. */
export function rowsOf(lines: readonly ShownLine[], opened: ReadonlySet<number | null>): LineRow[] {
  const rows: LineRow[] = []
  for (let index = 0; index < lines.length; ) {
    const line = lines[index]
    if (!line) break
    let end = index + 1
    while (end < lines.length && isTraceOf(line, lines[end])) end += 1
    rows.push({ line, trace: end - index - 1, isTrace: false })
    if (opened.has(line.id))
      for (const each of lines.slice(index + 1, end)) rows.push({ line: each, trace: 0, isTrace: true })
    index = end
  }
  return rows
}

function isTraceOf(head: ShownLine, line: ShownLine | undefined): boolean {
  return (
    line !== undefined &&
    line.server_id !== null &&
    line.server_id === head.server_id &&
    line.stream === head.stream &&
    TRACE.test(line.message) &&
    Date.parse(line.ts) - Date.parse(head.ts) < TOGETHER_MS
  )
}

/** The message in pieces; every second one matches. Upper and lower case are the same. */
export function piecesOf(message: string, sought: string): string[] {
  if (sought === '') return [message]
  const text = message.toLowerCase()
  const word = sought.toLowerCase()
  if (text.length !== message.length) return [message] // positions would differ
  const pieces: string[] = []
  let from = 0
  for (let at = text.indexOf(word); at !== -1; at = text.indexOf(word, from)) {
    pieces.push(message.slice(from, at), message.slice(at, at + word.length))
    from = at + word.length
  }
  return [...pieces, message.slice(from)]
}
