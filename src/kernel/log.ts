export const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal'] as const
export type Level = (typeof LEVELS)[number]

/** Levels as numbers, as they are stored and compared. */
export const LEVEL_RANK: Readonly<Record<Level, number>> = {
  trace: 10,
  debug: 20,
  info: 30,
  warn: 40,
  error: 50,
  fatal: 60,
}

export const SOURCES = ['service', 'server', 'gateway', 'agent', 'package', 'audit'] as const
export type Source = (typeof SOURCES)[number]

export const STREAMS = ['stdout', 'stderr', 'mcp'] as const
export type Stream = (typeof STREAMS)[number]

/** One line on its way into the log. */
export interface LogEntry {
  readonly ts: number
  readonly level: Level
  readonly source: Source
  readonly message: string
  readonly stream?: Stream | null
  readonly server_id?: string | null
  readonly agent_type?: string | null
  readonly tool?: string | null
  readonly request_id?: string | null
  readonly data?: Readonly<Record<string, unknown>> | null
  /** The number of bytes already cut from the end of the message. */
  readonly cut?: number
}

/** A line as it was stored: redacted, and with its id. The id is null when it could not be stored. */
export interface LoggedLine extends Required<Omit<LogEntry, 'cut'>> {
  readonly id: number | null
  readonly repeat: number
  readonly truncated: boolean
}

type Fields = Readonly<Record<string, unknown>>
type Write = (fields: Fields | string, message?: string) => void

/** Lines are objects with a short lower-case message: `log.info({ server_id }, 'server added')`. */
export type Log = { readonly [L in Level]: Write } & { child(bindings: Fields): Log }

/**
 * Fields with a column of their own. All others go into `data`, but for `source` and `listed_as`: the level of the stored line,
 * where the level of the call only decides whether it is stored.
 */
const COLUMNS = ['server_id', 'agent_type', 'tool', 'request_id'] as const

/** The minimum level. It may change; a property, because it is read with every line. */
export interface Threshold {
  level: Level
}

export function createLog(
  sink: (entry: LogEntry) => void,
  minimum: Level | Threshold,
  now = Date.now,
  bound: Fields = {},
): Log {
  const threshold = typeof minimum === 'string' ? { level: minimum } : minimum
  const writer =
    (level: Level): Write =>
    (fields, message) => {
      if (LEVEL_RANK[level] < LEVEL_RANK[threshold.level]) return
      const given = typeof fields === 'string' ? bound : { ...bound, ...fields }
      sink(entryOf(now(), level, given, message ?? (typeof fields === 'string' ? fields : '')))
    }
  const log = Object.fromEntries(LEVELS.map((level) => [level, writer(level)])) as { [L in Level]: Write }
  return { ...log, child: (bindings) => createLog(sink, threshold, now, { ...bound, ...bindings }) }
}

interface Special extends Fields {
  readonly source?: Source
  readonly listed_as?: Level
}

function entryOf(ts: number, given: Level, fields: Fields, message: string): LogEntry {
  const columns: Record<string, string> = {}
  const data: Record<string, unknown> = {}
  const { source = 'service', listed_as: level = given, ...others } = fields as Special
  for (const [key, value] of Object.entries(others)) {
    if (COLUMNS.some((column) => column === key) && typeof value === 'string') columns[key] = value
    else if (value !== undefined) data[key] = value instanceof Error ? describe(value) : value
  }
  const extra = Object.keys(data).length > 0 ? { data } : {}
  return { ts, level, source, message, ...columns, ...extra }
}

/** An Error has no own enumerable fields, so JSON would show it as `{}`. */
function describe(error: Error): Record<string, unknown> {
  const cause = error.cause instanceof Error ? { cause: describe(error.cause) } : {}
  const code = 'code' in error ? { code: error.code } : {}
  // The log can be read without a token, so it must not reveal where Toolroom is installed.
  const stack = error.stack?.replace(/\S+/g, withoutFolder)
  return { name: error.name, message: error.message, ...code, stack, ...cause }
}

/** `file:///home/me/toolroom/dist/main.js:1:2` becomes `dist/main.js:1:2`. */
function withoutFolder(word: string): string {
  const first = word.indexOf('/')
  const last = Math.max(...['/dist/', '/src/', '/node_modules/'].map((part) => word.lastIndexOf(part)))
  if (last <= first) return word
  const start = word.startsWith('file:', first - 5) ? first - 5 : first
  return word.slice(0, start) + word.slice(last + 1)
}
