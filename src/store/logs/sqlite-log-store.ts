import { setTimeout as delay, setImmediate } from 'node:timers/promises'
import { AppError, diskFull } from '../../kernel/errors.ts'
import type {
  AuditIds,
  DownloadRequest,
  Histogram,
  HistogramRequest,
  LogStore,
  Page,
  PageRequest,
  ResolvedFilter,
  StoredEntry,
} from '../../observe/logs/log-store.ts'
import { sqliteErrorKind } from '../sqlite/sqlite-errors.ts'
import { LogDatabase, type LogFileOptions } from './log-database.ts'
import { setAsideLog } from './open-log-database.ts'
import { downloadChunks } from './read/download.ts'
import type { Chunk, ChunkRequest } from './read/page-reader.ts'
import { sizesFor } from './write/log-space.ts'

export interface LogOptions extends LogFileOptions {
  /** Called when background maintenance fails. The log remains usable. */
  readonly onError: (error: Error) => void
}

const INDEX_AFTER_MS = 300
const CHECKPOINT_EVERY_MS = 5000
const REPORT_EVERY_MS = 60_000
const READING_MS = 50
const WRITING_MS = 100
const MAX_UNINDEXED = 100_000

/** The log store in the calling thread. Used by the log thread and by tests. */
export class SqliteLogStore implements LogStore {
  readonly #options: LogOptions
  readonly maxBatchBytes: number
  /** Undefined after damage was found, until the next call. */
  #database: LogDatabase | undefined
  #timer: NodeJS.Timeout | undefined
  #maintenance: Promise<void> | undefined
  #checkpointDue: number | undefined
  #reportedAt = -Infinity
  #activeReads = 0
  #readAt = -Infinity
  #writtenAt = -Infinity
  #closed = false

  constructor(options: LogOptions) {
    this.#options = options
    this.maxBatchBytes = sizesFor(options.maxBytes).step
    try {
      this.#database = new LogDatabase(options)
    } catch (error) {
      this.#report(asError(appErrorOf(error))) // every call tries again, and the call history works without the log
    }
    this.#scheduleMaintenance()
  }

  async append(entries: readonly StoredEntry[]): Promise<number> {
    let first: number
    try {
      first = this.#append(entries)
    } catch (error) {
      throw appErrorOf(error)
    }
    this.#writtenAt = performance.now()
    this.#checkpointDue ??= performance.now() + CHECKPOINT_EVERY_MS
    this.#scheduleMaintenance()
    return first
  }

  page(request: PageRequest): Promise<Page> {
    return this.#read((database) => database.page(request))
  }

  histogram(request: HistogramRequest): Promise<Histogram> {
    return this.#read((database) => database.histogram(request))
  }

  oldest(): Promise<number | null> {
    return this.#read(async (database) => database.oldest())
  }

  chunk(request: ChunkRequest): Promise<Chunk> {
    return this.#read((database) => database.chunk(request))
  }

  download(request: DownloadRequest): AsyncIterable<Uint8Array> {
    return downloadChunks(request, (chunk) => this.chunk(chunk))
  }

  async clear(filter: ResolvedFilter): Promise<number> {
    const deleted = await this.#read((database) => database.clear(filter))
    this.#scheduleMaintenance()
    return deleted
  }

  auditIds(): Promise<AuditIds> {
    return this.#read(async (database) => database.auditIds())
  }

  check(): Promise<void> {
    return this.#read(async (database) => database.check())
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    clearTimeout(this.#timer)
    this.#database?.close()
    await this.#maintenance
  }

  #use<T>(work: (database: LogDatabase) => T): T {
    if (this.#closed) throw new AppError('shutting_down', 'The log is closed')
    this.#database ??= new LogDatabase(this.#options)
    return work(this.#database)
  }

  #append(entries: readonly StoredEntry[]): number {
    try {
      return this.#use((database) => database.append(entries))
    } catch (error) {
      if (sqliteErrorKind(error) !== 'damaged') throw error
      this.#setAside(error)
      return this.#use((database) => database.append(entries))
    }
  }

  async #read<T>(work: (database: LogDatabase) => Promise<T>): Promise<T> {
    const database = this.#database
    this.#activeReads += 1
    try {
      return await this.#use(work)
    } catch (error) {
      // Replace the file now, so that the next lines are stored in a readable one.
      if (sqliteErrorKind(error) === 'damaged' && database === this.#database) this.#setAside(error)
      throw appErrorOf(error)
    } finally {
      this.#activeReads -= 1
      this.#readAt = performance.now()
    }
  }

  #setAside(reason: unknown): void {
    const damaged = this.#database
    this.#database = undefined
    try {
      damaged?.close()
    } catch {
      // the file is renamed anyway
    }
    setAsideLog(this.#options.path, reason, this.#options.onDamaged)
  }

  #scheduleMaintenance(): void {
    if (this.#closed || this.#timer || this.#maintenance) return
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      this.#maintenance = this.#maintain()
        .catch((error: unknown) => this.#report(error))
        .finally(() => {
          this.#maintenance = undefined
          if (this.#checkpointDue !== undefined) this.#scheduleMaintenance()
        })
    }, INDEX_AFTER_MS).unref()
  }

  /** Works in short steps, so that a read or write waits for one step at most. */
  async #maintain(): Promise<void> {
    try {
      while (!this.#closed && this.#use((database) => database.maintain())) await this.#yield()
      if (this.#closed || this.#checkpointDue === undefined) return
      if (performance.now() < this.#checkpointDue) return
      this.#checkpointDue = undefined
      this.#use((database) => database.checkpoint())
    } catch (error) {
      this.#checkpointDue = undefined
      if (sqliteErrorKind(error) !== 'damaged') throw error
      this.#setAside(error)
    }
  }

  /**
   * Leaves most of the time to reads and to bursts of writes. When so many lines are not indexed that a search would
   * be slow, indexing gets a larger share even during writes.
   */
  #yield(): Promise<void> {
    const now = performance.now()
    if (this.#activeReads > 0 || now - this.#readAt < READING_MS) return delay(READING_MS)
    if (now - this.#writtenAt >= WRITING_MS) return setImmediate()
    const farBehind = this.#use((database) => database.unindexed) > MAX_UNINDEXED
    return delay(farBehind ? WRITING_MS / 5 : WRITING_MS)
  }

  /** Limited to one report a minute: a report may be logged, which causes the next write. */
  #report(error: unknown): void {
    if (performance.now() - this.#reportedAt < REPORT_EVERY_MS) return
    this.#reportedAt = performance.now()
    this.#options.onError(asError(error))
  }
}

const asError = (error: unknown): Error => (error instanceof Error ? error : new Error(String(error)))

/** Maps SQLite errors that a caller can act on to error codes; returns other errors unchanged. */
function appErrorOf(error: unknown): unknown {
  switch (sqliteErrorKind(error)) {
    case 'busy':
      return new AppError('store_busy', 'The log is locked by another program', {
        cause: error,
        retryAfterS: 1,
      })
    case 'damaged':
      return new AppError('store_damaged', 'The log was damaged and is replaced by an empty one', {
        cause: error,
      })
    case 'full':
      return diskFull('The disk is full: the log could not be changed', error)
    case 'io':
    case 'read_only':
    case 'not_opened':
      return notWritable(error)
    default:
      return isFileError(error) ? notWritable(error) : error
  }
}

const notWritable = (cause: unknown): AppError =>
  new AppError('store_damaged', `The log cannot be read or written: ${asError(cause).message}`, {
    hint: 'Make logs.db and its folder writable for the user of Toolroom. The log works again at once',
    cause,
  })

/** Of the file system, such as EACCES or EROFS. */
const isFileError = (error: unknown): boolean => error instanceof Error && 'syscall' in error
