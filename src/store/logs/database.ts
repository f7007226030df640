import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { AppError } from '../../kernel/errors.ts'
import type { Page, PageRequest, ResolvedFilter, StoredEntry } from '../../logs/log-store.ts'
import type { Connection } from '../sqlite/connection.ts'
import { sqliteErrorKind } from '../sqlite/sqlite.ts'
import { openLogFile } from './file.ts'
import { TextIndex } from './index/text-index.ts'
import { type Chunk, type ChunkRequest, type ReadContext, readChunk, readPage } from './read/reading.ts'
import { batches } from './write/batches.ts'
import { clearLines } from './write/clearing.ts'
import { LineWriter } from './write/line-writer.ts'
import { ServerShares } from './write/server-shares.ts'
import { LogSpace, type Sizes, sizesFor } from './write/space.ts'

export interface LogFileOptions {
  readonly path: string
  /** For lines, indexes and the write-ahead log together. At least 8 MiB. */
  readonly maxBytes: number
  /** Called when the file was unusable and replaced by an empty one, with the path of the old file. */
  readonly onDamaged: (message: string) => void
}

/** How many steps an append may delete to free space; a lowered cap is reached in `maintain`. */
const MAX_TRIMS = 16
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
  #closed = false

  constructor({ path, maxBytes, onDamaged }: LogFileOptions) {
    this.#connection = openLogFile(path, onDamaged)
    this.#sizes = sizesFor(maxBytes)
    this.#space = new LogSpace(this.#connection, this.#sizes, dirname(path))
    this.#shares = new ServerShares(this.#connection, this.#sizes)
    this.#index = new TextIndex(this.#connection, this.#sizes)
    this.#writer = new LineWriter(this.#connection)
  }

  /** Uses one transaction, or several when one would exceed the limit of the write-ahead log. */
  append(entries: readonly StoredEntry[]): void {
    for (const batch of batches(entries, this.#sizes.step)) {
      for (let trims = 0; trims < MAX_TRIMS && this.#space.isTight(batch.bytes); trims++) this.#trim()
      for (let trims = 0; trims < MAX_TRIMS && this.#trimShare(this.#shares.exceeded()); trims++);
      this.#write(batch.entries)
    }
  }

  page(request: PageRequest): Promise<Page> {
    return readPage(this.#readContext(), request)
  }

  chunk(request: ChunkRequest): Promise<Chunk> {
    return readChunk(this.#readContext(), request)
  }

  async clear(filter: ResolvedFilter): Promise<number> {
    const deleted = await clearLines(this.#readContext(), filter)
    this.#writer.reload()
    return deleted
  }

  lastAuditId(): number {
    return this.#writer.lastAuditId
  }

  /** Throws when the lines cannot be read. */
  check(): void {
    this.#connection.rows('SELECT * FROM logs ORDER BY id DESC LIMIT 1')
  }

  /** One step of background work: trimming, indexing, shrinking the file. Returns whether more is left. */
  maintain(): boolean {
    if (this.#space.needsTrim()) return this.#trim()
    if (this.#trimShare(this.#shares.needsTrim())) return true
    try {
      if (!this.#space.isDiskShort() && this.#index.step(this.#writer.highestId)) return true
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw error
      return this.#trim()
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

  #write(entries: readonly StoredEntry[]): void {
    try {
      this.#writer.write(entries)
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw error
      this.#writeOnFullDisk(entries)
    }
  }

  /** Deletes the oldest lines to make room for the new ones, and tries once more. */
  #writeOnFullDisk(entries: readonly StoredEntry[]): void {
    try {
      this.#space.reuseWal()
      for (let trims = 0; trims < MAX_TRIMS / 4; trims++) this.#trim()
      this.#space.reuseWal()
      this.#writer.write(entries)
    } catch (cause) {
      if (sqliteErrorKind(cause) !== 'full') throw cause
      const hint = 'Free some space on the disk that holds the data folder'
      throw new AppError('disk_full', 'The disk is full: log lines could not be stored', { cause, hint })
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
