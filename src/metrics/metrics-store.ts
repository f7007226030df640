import type { SeriesRow } from './record/series.ts'

/** Each level is the sum of the one before. */
export const LEVELS = ['seconds', 'minutes', 'hours'] as const
export type Level = (typeof LEVELS)[number]

/** All series of a chunk during one second, minute or hour. */
export interface Block {
  readonly level: Level
  /** The beginning of it, in milliseconds. */
  readonly start: number
  readonly chunk: number
  readonly bytes: Uint8Array
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
  /** New ones, and those whose `last_at` is no longer what is stored. */
  readonly series: readonly SeriesRow[]
  /** Each replaces what is stored under its level, start and chunk. */
  readonly blocks: readonly Block[]
  readonly checks: readonly Check[]
}

/** What is too old to be kept, by level; and how many rows of each may go at once. */
export interface Trim {
  readonly before: Readonly<Partial<Record<Level, number>>>
  readonly series?: readonly number[]
  readonly share: number
}

/** What the metrics room needs of a database. Every call is complete when it returns. */
export interface MetricsStore {
  load(): { readonly series: SeriesRow[]; readonly next_id: number; readonly checks: Check[] }
  /** Those that start at `from` or later and before `to`, the oldest first. */
  read(level: Level, from: number, to: number): Iterable<Block>
  one(level: Level, start: number, chunk: number): Uint8Array | undefined
  /** In one transaction. `recreated`: the file was damaged and is a new one; nothing is stored. */
  save(change: Change): 'saved' | 'recreated'
  /** The oldest rows first, at most the share of all: a clock that jumps must not empty the store. */
  trim(trim: Trim): void
  /** The checks of a server that is gone. */
  forgetChecks(server_id: string): void
  close(): void
}
