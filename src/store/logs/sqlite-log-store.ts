import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { AppError } from '../../kernel/errors.ts'
import type {
  DownloadRequest,
  LogStore,
  Page,
  PageRequest,
  ResolvedFilter,
  StoredEntry,
} from '../../logs/log-store.ts'
import { sqliteTrouble } from '../sqlite/sqlite.ts'
import { LogDatabase } from './database.ts'
import { setAsideLog } from './file.ts'
import { pieces } from './read/pieces.ts'
import type { Piece, PieceRequest } from './read/reading.ts'
import { sizesFor } from './write/space.ts'

export interface LogOptions {
  readonly path: string
  /** For everything: lines, indexes and write-ahead log. At least 8 MiB. */
  readonly maxBytes: number
  /** The log could not be read and has started anew. Says where the old file is. */
  readonly onDamaged: (message: string) => void
  /** Work behind the scenes has failed; the log goes on. */
  readonly onError: (error: Error) => void
}

/** How long written lines may wait for the text index, and for the disk. */
const INDEX_AFTER_MS = 300
const CHECKPOINT_EVERY_MS = 5000
const TELL_EVERY_MS = 60_000
const READING_MS = 50
const WRITING_MS = 100
const MOST_UNINDEXED = 100_000

/** The log in the thread that calls it: inside the log's own thread, and in tests. */
export class SqliteLogStore implements LogStore {
  readonly #options: LogOptions
  readonly atOnceBytes: number
  /** Undefined after it was found damaged, until the next call. */
  #database: LogDatabase | undefined
  #timer: NodeJS.Timeout | undefined
  #tending: Promise<void> | undefined
  #checkpointDue: number | undefined
  #toldAt = -Infinity
  #readings = 0
  #readAt = -Infinity
  #writtenAt = -Infinity
  #closed = false

  constructor(options: LogOptions) {
    this.#options = options
    this.atOnceBytes = sizesFor(options.maxBytes).step
    this.#database = new LogDatabase(options)
    this.#tendSoon(INDEX_AFTER_MS)
  }

  async append(entries: readonly StoredEntry[]): Promise<void> {
    try {
      this.#append(entries)
    } catch (error) {
      throw understandable(error)
    }
    this.#writtenAt = performance.now()
    this.#checkpointDue ??= performance.now() + CHECKPOINT_EVERY_MS
    this.#tendSoon(INDEX_AFTER_MS)
  }

  page(request: PageRequest): Promise<Page> {
    return this.#read((database) => database.page(request))
  }

  piece(request: PieceRequest): Promise<Piece> {
    return this.#read((database) => database.piece(request))
  }

  download(request: DownloadRequest): AsyncIterable<Uint8Array> {
    return pieces(request, (piece) => this.piece(piece))
  }

  async clear(filter: ResolvedFilter): Promise<number> {
    const deleted = await this.#read((database) => database.clear(filter))
    this.#tendSoon(INDEX_AFTER_MS)
    return deleted
  }

  lastAuditId(): Promise<number> {
    return this.#read(async (database) => database.lastAuditId())
  }

  check(): Promise<void> {
    return this.#read(async (database) => database.check())
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    this.#database?.close()
    await this.#tending
  }

  #use<T>(work: (database: LogDatabase) => T): T {
    if (this.#closed) throw new AppError('shutting_down', 'The log is closed')
    this.#database ??= new LogDatabase(this.#options)
    return work(this.#database)
  }

  #append(entries: readonly StoredEntry[]): void {
    try {
      this.#use((database) => database.append(entries))
    } catch (error) {
      if (sqliteTrouble(error) !== 'damaged') throw error
      this.#giveUp(error)
      this.#use((database) => database.append(entries))
    }
  }

  async #read<T>(work: (database: LogDatabase) => Promise<T>): Promise<T> {
    const database = this.#database
    this.#readings += 1
    try {
      return await this.#use(work)
    } catch (error) {
      // Lines that come from now on shall be readable, so this file is used no longer.
      if (sqliteTrouble(error) === 'damaged' && database === this.#database) this.#giveUp(error)
      throw understandable(error)
    } finally {
      this.#readings -= 1
      this.#readAt = performance.now()
    }
  }

  #giveUp(reason: unknown): void {
    const damaged = this.#database
    this.#database = undefined
    try {
      damaged?.close()
    } catch {
      // it is put aside as it is
    }
    setAsideLog(this.#options.path, reason, this.#options.onDamaged)
  }

  #tendSoon(ms: number): void {
    if (this.#closed || this.#timer || this.#tending) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#tending = this.#tend()
        .catch((error: unknown) => this.#tell(error))
        .finally(() => {
          this.#tending = undefined
          if (this.#checkpointDue !== undefined) this.#tendSoon(INDEX_AFTER_MS)
        })
    }, ms).unref()
  }

  /** Never longer than a step at a time, so that whoever wants to write or read waits for a step at most. */
  async #tend(): Promise<void> {
    try {
      while (!this.#closed && this.#use((database) => database.tend())) await this.#letOthers()
      if (this.#closed || this.#checkpointDue === undefined) return
      if (performance.now() < this.#checkpointDue) return
      this.#checkpointDue = undefined
      this.#use((database) => database.checkpoint())
    } catch (error) {
      this.#checkpointDue = undefined
      if (sqliteTrouble(error) !== 'damaged') throw error
      this.#giveUp(error)
    }
  }

  /**
   * Somebody who reads, piece by piece, has the greater part of the time, and so has who writes much: until so many
   * lines wait for the text index that a search would take long; then half of it.
   */
  #letOthers(): Promise<void> {
    const now = performance.now()
    if (this.#readings > 0 || now - this.#readAt < READING_MS) return delay(READING_MS)
    if (now - this.#writtenAt >= WRITING_MS) return setImmediate()
    const far = this.#use((database) => database.unindexed) > MOST_UNINDEXED
    return delay(far ? WRITING_MS / 5 : WRITING_MS)
  }

  /** Whoever is told may write a line about it, and that line leads back here: so not too often. */
  #tell(error: unknown): void {
    if (performance.now() - this.#toldAt < TELL_EVERY_MS) return
    this.#toldAt = performance.now()
    this.#options.onError(error instanceof Error ? error : new Error(String(error)))
  }
}

/** What SQLite says, as far as a caller can act upon it. */
function understandable(error: unknown): unknown {
  switch (sqliteTrouble(error)) {
    case 'busy':
      return new AppError('store_busy', 'The log is locked by another program', {
        cause: error,
        retryAfterS: 1,
      })
    case 'damaged':
      return new AppError('store_damaged', 'The log was damaged and starts anew', { cause: error })
    case 'full':
      return new AppError('disk_full', 'The disk is full', { cause: error })
    default:
      return error
  }
}
