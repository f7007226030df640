import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { AppError, diskFull } from '../../kernel/errors.ts'
import type {
  AuditIds,
  Discarded,
  Histogram,
  HistogramRequest,
  Page,
  PageRequest,
  ResolvedFilter,
  StoredEntry,
} from '../../observe/logs/log-store.ts'
import type { Connection } from '../sqlite/connection.ts'
import { sqliteErrorKind } from '../sqlite/sqlite-errors.ts'
import { TextIndex } from './index/text-index.ts'
import { openLogFile } from './open-log-database.ts'
import { oldestTime, readHistogram } from './read/histogram.ts'
import { type Chunk, type ChunkRequest, type ReadContext, readChunk, readPage } from './read/page-reader.ts'
import { clearLines } from './write/clearing.ts'
import { LineWriter } from './write/line-writer.ts'
import { deleteOldest, LogSpace, readAuditIds, type Sizes, sizesFor } from './write/log-space.ts'
import { ServerShares } from './write/server-shares.ts'
import { type Batch, batches } from './write/split-into-batches.ts'

export interface LogFileOptions {
  readonly path: string
  /** For lines, indexes and the write-ahead log together. At least 8 MiB. */
  readonly maxBytes: number
  /** Called when the file was unusable and replaced by an empty one, with the path of the old file. */
  readonly onDamaged: (message: string) => void
  /** Called when lines were deleted because the disk is nearly full. */
  readonly onDiscarded?: ((lines: readonly Discarded[]) => void) | undefined
}

/** How many steps an append may delete to free space; a lowered cap is reached in `maintain`. */
const MAX_TRIMS = 16
/** How many steps it may delete while the disk is nearly full. Freed pages may be too few at first, because lines share them. */
const MAX_DISCARDS = 4
const NOT_STORED = 'The disk is full: log lines could not be stored'
/** How long a read may block other calls. */
const READING_MS = 5

/**
 * `logs.db` behind one connection. Writes are synchronous; long reads and clears pause every few ms, so that the owner
 * can write in between. The owner calls `maintain` while idle.
 */
export class LogDatabase {
  readonly #connection: Connection
  readonly #sizes: Sizes
  readonly #space: LogSpace
  readonly #shares: ServerShares
  readonly #index: TextIndex
  readonly #writer: LineWriter
  readonly #onDiscarded: NonNullable<LogFileOptions['onDiscarded']>
  /** Lines lost since the disk is nearly full. */
  #lost = 0
  #closed = false

  constructor({ path, maxBytes, onDamaged, onDiscarded }: LogFileOptions) {
    this.#onDiscarded = onDiscarded ?? (() => {})
    this.#connection = openLogFile(path, onDamaged)
    this.#sizes = sizesFor(maxBytes)
    this.#space = new LogSpace(this.#connection, this.#sizes, dirname(path))
    this.#shares = new ServerShares(this.#connection, this.#sizes)
    this.#index = new TextIndex(this.#connection, this.#sizes)
    this.#writer = new LineWriter(this.#connection)
  }

  /**
   * Uses one transaction, or several when one would exceed the limit of the write-ahead log. Returns the id of the first
   * entry.
   */
  append(entries: readonly StoredEntry[]): number {
    const first = this.#writer.highestId + 1
    for (const batch of batches(entries, this.#sizes.step)) {
      for (let trims = 0; trims < MAX_TRIMS && this.#space.isTight(batch.bytes); trims++) this.#trim()
      for (let trims = 0; trims < MAX_TRIMS && this.#trimShare(this.#shares.exceeded()); trims++);
      this.#makeRoom(batch.bytes)
      this.#write(batch)
    }
    return first
  }

  page(request: PageRequest): Promise<Page> {
    return readPage(this.#readContext(), request)
  }

  histogram(request: HistogramRequest): Promise<Histogram> {
    return readHistogram(this.#readContext(), request)
  }

  oldest(): number | null {
    return oldestTime(this.#connection)
  }

  chunk(request: ChunkRequest): Promise<Chunk> {
    return readChunk(this.#readContext(), request)
  }

  async clear(filter: ResolvedFilter): Promise<number> {
    const deleted = await clearLines(this.#readContext(), filter)
    this.#writer.reload()
    return deleted
  }

  auditIds(): AuditIds {
    return readAuditIds(this.#connection)
  }

  /** Throws when the lines cannot be read, and while lines are lost because the disk is nearly full. */
  check(): void {
    this.#connection.rows('SELECT * FROM logs ORDER BY id DESC LIMIT 1')
    if (this.#space.mayGrow(this.#sizes.step)) this.#lost = 0
    if (this.#lost === 0) return
    throw diskFull(`The disk is nearly full, and ${this.#lost} log lines were lost`)
  }

  /** One step of background work: trimming, indexing, shrinking the file. Returns whether more is left. */
  maintain(): boolean {
    if (this.#space.needsTrim()) return this.#trim()
    if (this.#trimShare(this.#shares.needsTrim())) return true
    try {
      if (this.#space.mayGrow(this.#sizes.indexStep * 4) && this.#index.step(this.#writer.highestId))
        return true
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw error
      // On a full disk, no line is deleted for the index: a search reads the lines that are not indexed.
      return this.#space.isAtLimit(this.#sizes.indexStep) && this.#trim()
    }
    return this.#space.shrinkStep()
  }

  /** About how many lines are not in the text index yet. */
  get unindexed(): number {
    return this.#index.unindexed(this.#writer.highestId)
  }

  /** Makes all lines written so far survive a power cut. */
  checkpoint(): void {
    this.#connection.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }

  /** Active reads fail at their next step. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#connection.close()
  }

  /** On a disk that is nearly full the file must not grow: the oldest lines make room, as many as are needed. */
  #makeRoom(bytes: number): void {
    for (let tries = 0; tries < MAX_DISCARDS; tries++) {
      const missing = this.#space.missing(bytes)
      if (missing === 0 || !this.#discard(missing)) return
    }
  }

  #write(batch: Batch): void {
    try {
      this.#writer.write(batch.entries)
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw error
      this.#writeOnFullDisk(batch)
    }
  }

  /**
   * Tries once more with the space of the write-ahead log, then with that of the oldest lines: a quota, which the free
   * space of the disk does not show. The caller may try again with fewer lines.
   */
  #writeOnFullDisk({ entries, bytes }: Batch): void {
    try {
      this.#space.reuseWal()
      if (this.#space.isAtLimit(bytes)) for (let trims = 0; trims < MAX_TRIMS / 4; trims++) this.#trim()
      this.#writer.write(entries)
      return
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw error
      if (!this.#discard(bytes * 2)) throw diskFull(NOT_STORED, error)
    }
    try {
      this.#writer.write(entries)
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw error
      throw diskFull(NOT_STORED, error)
    }
  }

  /** Deletes the oldest lines, and reports them. Returns false when there are none, or when the disk does not allow it. */
  #discard(bytes: number): boolean {
    try {
      const { ids, lines } = deleteOldest(this.#connection, bytes)
      if (ids.length === 0) return false
      this.#index.markDeleted(ids)
      this.#writer.reload()
      for (const each of lines) this.#lost += each.lines
      this.#onDiscarded(lines)
      return true
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw error
      this.#space.reuseWal()
      return false
    }
  }

  #trim(): boolean {
    const lowest = this.#space.trimStep()
    this.#index.dropBelow(lowest ?? Infinity)
    if (lowest === null) this.#writer.reload()
    return lowest !== null
  }

  #trimShare(server: string | undefined): boolean {
    if (server === undefined) return false
    this.#index.markDeleted(this.#shares.trimStep(server))
    return true
  }

  /** Pauses only every few ms: after every pause, a read may wait for a whole batch of lines. */
  #readContext(): ReadContext {
    let pausedAt = performance.now()
    return {
      connection: this.#connection,
      index: this.#index,
      upTo: this.#writer.highestId,
      pause: async () => {
        if (performance.now() - pausedAt > READING_MS) {
          await setImmediate()
          pausedAt = performance.now()
        }
        if (this.#closed) throw new AppError('shutting_down', 'The log is closing')
      },
    }
  }
}
