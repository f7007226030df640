import type { SeriesRow } from './record/series-table.ts'

/** Each level is the sum of the previous one. */
export const LEVELS = ['seconds', 'minutes', 'hours'] as const
export type Level = (typeof LEVELS)[number]

/** The cells of all series of a chunk in one second, minute or hour. */
export interface Block {
  readonly level: Level
  /** Start of the period, in milliseconds. */
  readonly start: number
  readonly chunk: number
  readonly bytes: Uint8Array
}

/** The levels of servers' availability and resources. Their rows are few, so that a day is read in a few milliseconds. */
export const SERVER_STEP_MS = { minutes: 60_000, quarters: 900_000, hours: 3_600_000 } as const
export type ServerLevel = keyof typeof SERVER_STEP_MS

/** What is known about one server in one minute or hour. */
export interface ServerPeriod {
  readonly server_id: string
  readonly start: number
  /** How long it should have been available. */
  expected_ms: number
  /** How long it was not available, although it should have been. */
  down_ms: number
  /** How long its resources were measured. */
  sampled_ms: number
  /** The sum of percent × milliseconds. */
  cpu: number
  cpu_max: number
  /** The sum of bytes × milliseconds. */
  rss: number
  rss_max: number
}

/** One check of an HTTP server. */
export interface Check {
  readonly server_id: string
  readonly ts: number
  readonly ok: boolean
  readonly duration_ms: number
  readonly error_code: string | null
}

export interface Change {
  /** New series, and those whose `last_at` has changed. */
  readonly series: readonly SeriesRow[]
  /** Each replaces the stored block with the same level, start and chunk. */
  readonly blocks: readonly Block[]
  readonly checks: readonly Check[]
  /** Each is added to what is stored of the same period. */
  readonly periods: Readonly<Record<ServerLevel, readonly ServerPeriod[]>>
}

/** Time limits by level, and the maximum share of rows to delete at once. */
export interface Trim {
  readonly before: Readonly<Partial<Record<Level, number>>>
  readonly serversBefore?: Readonly<Record<ServerLevel, number>>
  readonly series?: readonly number[]
  readonly share: number
}

/** Storage for metrics. Every call is synchronous. */
export interface MetricsStore {
  load(): {
    readonly series: SeriesRow[]
    readonly next_id: number
    readonly checks: Check[]
    /** The start of the newest block; undefined without any. */
    readonly newest?: number | undefined
  }
  /** Blocks that start at `from` or later and before `to`, oldest first. */
  read(level: Level, from: number, to: number): Iterable<Block>
  one(level: Level, start: number, chunk: number): Uint8Array | undefined
  /** The periods of all servers, or of one, combined into steps, which are a multiple of the level's. */
  periods(
    level: ServerLevel,
    from: number,
    to: number,
    step: number,
    server_id: string | undefined,
  ): readonly ServerPeriod[]
  /** Uses one transaction. `recreated`: the file was damaged and replaced by an empty one; nothing was saved. */
  save(change: Change): 'saved' | 'recreated'
  /** Deletes the oldest rows first, at most the share of all, but at least one period. */
  trim(trim: Trim): void
  /** Deletes the checks of a removed server. */
  forgetChecks(server_id: string): void
  close(): void
}
