import type { Level, LogEntry, Source, Stream } from '../kernel/log.ts'
import type { Format, LogLine } from './logs.schema.ts'

/** A line as it is stored: redacted, cut, counted. */
export interface StoredEntry extends Omit<LogEntry, 'data'> {
  /** JSON text, or null. */
  readonly data: string | null
  readonly repeat: number
  readonly truncated: boolean
}

/** The filters of `logs.schema.ts` with every time resolved to milliseconds. */
export interface ResolvedFilter {
  readonly level?: Level
  readonly source?: readonly Source[]
  readonly stream?: readonly Stream[]
  readonly server_id?: readonly string[]
  readonly agent_type?: string
  readonly tool?: string
  readonly request_id?: string
  readonly search?: string
  /** Inclusive. */
  readonly since?: number
  /** Inclusive. */
  readonly until?: number
}

export interface PageRequest {
  readonly filter: ResolvedFilter
  readonly order: 'asc' | 'desc'
  readonly limit: number
  /** The id of the last line of the page before; this page goes on behind it. */
  readonly after: number | null
}

export interface Page {
  readonly items: LogLine[]
  /** Exact up to 10,000 and null beyond. Independent of `after`. */
  readonly total: number | null
  /** The id to pass as `after`, or null when this was the last page. */
  readonly next: number | null
}

export interface DownloadRequest {
  readonly filter: ResolvedFilter
  readonly order: 'asc' | 'desc'
  readonly format: Format
}

/** What the log room needs of a database. A page shows at least what was stored when it was asked for; other calls are answered in the order in which they were made. */
export interface LogStore {
  /** About so much text is stored at once: all of it or nothing. */
  readonly atOnceBytes: number
  /** Resolves when the entries can be read. Durable soon after, not at once. */
  append(entries: readonly StoredEntry[]): Promise<void>
  page(request: PageRequest): Promise<Page>
  /** Formatted text in pieces, bounded in memory; lines up to the highest id at the time of the call. */
  download(request: DownloadRequest): AsyncIterable<Uint8Array>
  /** Deletes what the filter selects, except audit lines, and says how many. */
  clear(filter: ResolvedFilter): Promise<number>
  /** The highest `audit_id` ever appended as a line's data, so that a crash between the two stores can be mended. */
  lastAuditId(): Promise<number>
  /** Throws when the store cannot be read. */
  check(): Promise<void>
  close(): Promise<void>
}
