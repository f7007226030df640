import { dirname } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { AppError } from '../../kernel/errors.ts'
import type { Page, PageRequest, ResolvedFilter, StoredEntry } from '../../logs/log-store.ts'
import type { Connection } from '../sqlite/connection.ts'
import { sqliteTrouble } from '../sqlite/sqlite.ts'
import { openLogFile } from './file.ts'
import { TextIndex } from './index/text-index.ts'
import { type Piece, type PieceRequest, type Reading, readPage, readPiece } from './read/reading.ts'
import { batches } from './write/batches.ts'
import { clearLines } from './write/clearing.ts'
import { LineWriter } from './write/line-writer.ts'
import { ServerShares } from './write/server-shares.ts'
import { LogSpace, type Sizes, sizesFor } from './write/space.ts'

export interface LogFileOptions {
  readonly path: string
  readonly maxBytes: number
  /** The file could not be used: the log has started anew. */
  readonly onDamaged: (message: string) => void
}

/** The most that an append deletes to make room for itself; a cap that was lowered is reached in `tend`. */
const MOST_TRIMS = 16
/** How long a reading may keep others waiting. */
const READING_MS = 5

/**
 * `logs.db` behind one connection. Writing is done when the call returns; long readings and clears pause every
 * few ms, so that their owner can write in between. Whoever owns it calls `tend` while idle.
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

  /** In one transaction, unless they are so many that the write-ahead log would outgrow its room. */
  append(entries: readonly StoredEntry[]): void {
    for (const batch of batches(entries, this.#sizes.step)) {
      for (let trims = 0; trims < MOST_TRIMS && this.#space.isTight(batch.bytes); trims++) this.#trim()
      for (let trims = 0; trims < MOST_TRIMS && this.#trimShare(this.#shares.exceeded()); trims++);
      this.#write(batch.entries)
    }
  }

  page(request: PageRequest): Promise<Page> {
    return readPage(this.#reading(), request)
  }

  piece(request: PieceRequest): Promise<Piece> {
    return readPiece(this.#reading(), request)
  }

  async clear(filter: ResolvedFilter): Promise<number> {
    const deleted = await clearLines(this.#reading(), filter)
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

  /** A little of the work that can wait: trimming, indexing, giving room back. Says whether there is more. */
  tend(): boolean {
    if (this.#space.wantsTrim()) return this.#trim()
    if (this.#trimShare(this.#shares.wantsTrim())) return true
    try {
      if (!this.#space.isDiskShort() && this.#index.step(this.#writer.highestId)) return true
    } catch (error) {
      if (sqliteTrouble(error) !== 'full') throw error
      return this.#trim()
    }
    return this.#space.shrinkStep()
  }

  /** About how many lines the text index does not know yet. */
  get unindexed(): number {
    return this.#index.behind(this.#writer.highestId)
  }

  /** From here on what was written survives a power cut. */
  checkpoint(): void {
    this.#connection.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }

  /** Readings that are under way end with an error at their next step. */
  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#connection.close()
  }

  #write(entries: readonly StoredEntry[]): void {
    try {
      this.#writer.write(entries)
    } catch (error) {
      if (sqliteTrouble(error) !== 'full') throw error
      this.#writeIntoLittle(entries)
    }
  }

  /** The disk is full. Newer lines are worth more than the oldest ones, so these make room, once. */
  #writeIntoLittle(entries: readonly StoredEntry[]): void {
    try {
      this.#space.reuseWal()
      for (let trims = 0; trims < MOST_TRIMS / 4; trims++) this.#trim()
      this.#space.reuseWal()
      this.#writer.write(entries)
    } catch (cause) {
      if (sqliteTrouble(cause) !== 'full') throw cause
      const hint = 'Free some space on the disk that holds the data folder'
      throw new AppError('disk_full', 'The disk is full, so log lines could not be stored', { cause, hint })
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
    this.#index.strike(this.#shares.trimStep(server))
    return true
  }

  /** A page takes a few ms in all; were it to pause after each step, it would wait for a batch of lines every time. */
  #reading(): Reading {
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
        if (this.#closed) throw new AppError('shutting_down', 'The log is being closed')
      },
    }
  }
}
