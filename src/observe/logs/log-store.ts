import type { Level, LoggedLine, Source, Stream } from '../../kernel/log.ts'
import type { Format, LogLine } from './logs.schema.ts'

/** A line ready to be stored: redacted, cut to size, with its repeat count. */
export interface StoredEntry extends Omit<LoggedLine, 'id' | 'data'> {
  /** JSON text, or null. */
  readonly data: string | null
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
  /** The id of the last line of the previous page. */
  readonly after: number | null
  /** False: the total is not needed, and null. */
  readonly counts?: boolean
}

export interface Page {
  readonly items: LogLine[]
  /** Null above 10,000, and when it was not requested. Independent of `after`. */
  readonly total: number | null
  /** The `after` of the next page; null on the last page. */
  readonly next: number | null
}

export interface HistogramRequest {
  readonly filter: ResolvedFilter
  /** In milliseconds. */
  readonly step: number
}

export interface Histogram {
  /** The number of lines of one level in the step that starts at `start`. Steps without lines are absent. */
  readonly counts: readonly { readonly start: number; readonly level: Level; readonly lines: number }[]
  /** The sum of `repeat` - 1 over the counted lines. */
  readonly folded: number
  /** Lines before this time were not counted, because there are too many. Null: all lines were counted. */
  readonly from: number | null
}

export interface DownloadRequest {
  readonly filter: ResolvedFilter
  readonly order: 'asc' | 'desc'
  readonly format: Format
}

export interface AuditIds {
  /** Rows up to this one were deleted with the oldest lines, because the log reached its limit. */
  readonly trimmed_to: number
  readonly stored: readonly number[]
}

/** Lines that were deleted to make room for new ones, because the disk is nearly full. */
export interface Discarded {
  /** The server that wrote them; null for all other lines. */
  readonly server_id: string | null
  readonly lines: number
}

/**
 * Storage for log lines. A page includes every line whose `append` was resolved before the call; other calls are
 * carried out in the order in which they are made.
 */
export interface LogStore {
  /** About how many bytes of text `append` stores in one transaction. */
  readonly maxBatchBytes: number
  /**
   * Resolves when the entries can be read, with the id of the first; the ids of the others follow it without a gap. They
   * survive a power cut a few seconds later.
   */
  append(entries: readonly StoredEntry[]): Promise<number>
  page(request: PageRequest): Promise<Page>
  /** Reads the newest lines first, and for a limited time. */
  histogram(request: HistogramRequest): Promise<Histogram>
  /** The time of the oldest line; null without lines. */
  oldest(): Promise<number | null>
  /** Formatted text in chunks of limited size, up to the highest id at the time of the call. */
  download(request: DownloadRequest): AsyncIterable<Uint8Array>
  /** Deletes matching lines except audit lines, and returns how many were deleted. */
  clear(filter: ResolvedFilter): Promise<number>
  /** Which audit rows are in the log. */
  auditIds(): Promise<AuditIds>
  /** Throws when the store cannot be read, and while it loses lines because the disk is nearly full. */
  check(): Promise<void>
  close(): Promise<void>
}
