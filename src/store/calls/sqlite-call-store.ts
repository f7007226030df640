import { dirname } from 'node:path'
import { AppError, diskFull } from '../../kernel/errors.ts'
import { ClockTrust, sinceBoot } from '../../kernel/time.ts'
import type {
  CallPage,
  CallPageRequest,
  CallRecord,
  CallStore,
  SealedPayload,
} from '../../observe/calls/call-store.ts'
import type { Connection } from '../sqlite/connection.ts'
import { leavesSpare, mayGrow } from '../sqlite/disk-space.ts'
import { sqliteErrorKind } from '../sqlite/sqlite-errors.ts'
import { BlockQueue } from './block-writer.ts'
import { DamagedBlock, type NewBlock } from './call-block.ts'
import { CallDatabase, type Limits } from './call-database.ts'
import { openCallFile, replaceCallFile } from './open-call-database.ts'

export interface CallStoreOptions {
  readonly path: string
  /** Whether payloads of an earlier run are kept. */
  readonly keepsPayloads: boolean
  /** Called when the file cannot be used: it was replaced by an empty one, or the history is kept in memory. */
  readonly onTrouble: (message: string) => void
  readonly now?: () => number
  /** Milliseconds of a clock that never jumps. */
  readonly steady?: () => number
  readonly limits?: Partial<Limits>
}

const LIMITS: Limits = {
  maxRows: 1_000_000,
  maxDays: 30,
  maxPayloadBytes: 256 * 1024 * 1024,
  maxPayloadDays: 7,
}
const TRIM_EVERY_MS = 3_600_000
/** Payloads of one transaction, so that the write-ahead log stays small. */
const TRANSACTION_BYTES = 512 * 1024
const FULL = 'The disk is full: calls could not be stored'

/** The call history in the calling thread. Used by the store thread and by tests. */
export class SqliteCallStore implements CallStore {
  readonly #options: CallStoreOptions
  readonly #now: () => number
  readonly #queue = new BlockQueue((blocks) => this.appendBlocks(blocks))
  #connection: Connection
  #database: CallDatabase
  readonly #clock: ClockTrust
  #trimAt = -Infinity
  #closed = false

  constructor(options: CallStoreOptions) {
    this.#options = options
    this.#now = options.now ?? Date.now
    this.#connection = openCallFile(options.path, options.onTrouble)
    this.#database = this.#read()
    this.#clock = new ClockTrust(this.#now(), options.steady ?? sinceBoot, this.#database.newestAt)
  }

  async highestId(): Promise<number> {
    return this.#use(() => this.#database.highestId)
  }

  get add(): CallStore['add'] {
    return this.#queue.add
  }

  flush(): Promise<void> {
    return this.#queue.flush()
  }

  async appendBlocks(blocks: readonly NewBlock[]): Promise<void> {
    this.#write(
      blocks.reduce((sum, block) => sum + bytesOf(block), 0),
      () => this.#database.append(blocks),
    )
    if (!this.#clock.trusts(this.#now()) || this.#now() < this.#trimAt) return
    this.#trimAt = this.#now() + TRIM_EVERY_MS
    this.#use(() => this.#database.trim(this.#now()))
  }

  async page(request: CallPageRequest): Promise<CallPage> {
    return this.#use(() => this.#database.page(request))
  }

  async find(id: number): Promise<CallRecord | undefined> {
    return this.#use(() => this.#database.find(id))
  }

  async savePayloads(payloads: readonly SealedPayload[]): Promise<void> {
    let some: SealedPayload[] = []
    let bytes = 0
    for (const [index, payload] of payloads.entries()) {
      some.push(payload)
      bytes += payload.sealed.length
      if (bytes < TRANSACTION_BYTES && index < payloads.length - 1) continue
      const [batch, size] = [some, bytes]
      this.#write(size, () => this.#database.payloads.save(batch))
      some = []
      bytes = 0
    }
  }

  async payload(call_id: number): Promise<string | undefined> {
    return this.#use(() => this.#database.payloads.find(call_id))
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    this.#connection.close()
  }

  #read(): CallDatabase {
    try {
      return this.#open()
    } catch (error) {
      if (!isDamage(error)) throw error
      return this.#replace(error)
    }
  }

  #open(): CallDatabase {
    const database = new CallDatabase(this.#connection, { ...LIMITS, ...this.#options.limits })
    if (!this.#options.keepsPayloads) database.payloads.clear()
    return database
  }

  /**
   * On a disk that is nearly full the file must not grow: the oldest calls make room. What is written needs its space twice,
   * in the write-ahead log, too. A damaged file is replaced.
   */
  #write(bytes: number, work: () => void): void {
    this.#use(() => {
      if (!leavesSpare(dirname(this.#options.path), bytes * 2)) throw diskFull(FULL)
      for (let free = this.#freeBytes(); free < bytes && !this.#mayGrow(bytes * 2); free = this.#freeBytes())
        if (!this.#database.dropOldest()) throw diskFull(FULL)
      try {
        work()
      } catch (error) {
        if (!isDamage(error)) throw error
        this.#replace(error)
        work()
      }
    })
  }

  #freeBytes(): number {
    return this.#connection.pragma('freelist_count') * this.#connection.pragma('page_size')
  }

  #mayGrow(bytes: number): boolean {
    const size = this.#connection.pragma('page_count') * this.#connection.pragma('page_size')
    return mayGrow(dirname(this.#options.path), size, bytes)
  }

  #use<T>(work: () => T): T {
    if (this.#closed) throw new AppError('shutting_down', 'The call history is closed')
    try {
      return work()
    } catch (error) {
      if (isDamage(error)) this.#replace(error)
      throw appErrorOf(error)
    }
  }

  #replace(reason: unknown): CallDatabase {
    try {
      this.#connection.close()
    } catch {
      // the file is renamed anyway
    }
    this.#connection = replaceCallFile(this.#options.path, reason, this.#options.onTrouble)
    this.#database = this.#open()
    return this.#database
  }
}

const bytesOf = ({ names, filters, keys, folded, details }: NewBlock): number =>
  details.reduce((sum, { length }) => sum + length, names.length + filters.length + keys.length) +
  (folded?.length ?? 0)

const isDamage = (error: unknown): boolean =>
  sqliteErrorKind(error) === 'damaged' || error instanceof DamagedBlock || error instanceof SyntaxError

/** Maps SQLite errors that a caller can act on to error codes; returns other errors unchanged. */
function appErrorOf(error: unknown): unknown {
  if (isDamage(error))
    return new AppError('store_damaged', 'The call history was damaged and is replaced by an empty one', {
      cause: error,
    })
  switch (sqliteErrorKind(error)) {
    case 'busy':
      return new AppError('store_busy', 'The call history is locked by another program', {
        cause: error,
        retryAfterS: 1,
      })
    case 'full':
      return diskFull(FULL, error)
    default:
      return error
  }
}
