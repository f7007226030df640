import { statfsSync } from 'node:fs'
import type { Connection } from '../../sqlite/connection.ts'
import { lowestId, runOfLines } from '../index/lines.ts'
import { countDeleted } from './server-shares.ts'

const PAGE_BYTES = 4096
const MIB = 1024 * 1024

/** Below this there is no room for tables, indexes and a write-ahead log side by side. */
const LEAST_BYTES = 8 * MIB

const SMALL = 4 * MIB
const DISK_MARGIN = 32 * MIB
const SHRINK_PAGES = 256

/** The sizes that follow from the cap. Everything counts: lines, indexes, text index, write-ahead log. */
export function sizesFor(maxBytes: number) {
  const cap = Math.max(maxBytes, LEAST_BYTES)
  const wal = clamp(cap / 64, 2 * MIB, 16 * MIB)
  const high = Math.min(cap * 0.85, (cap - wal) * 0.9)
  const step = clamp(cap / 128, 64 * 1024, MIB)
  return {
    /** The file itself never grows beyond this: SQLite refuses. */
    file: cap - wal,
    /** The write-ahead log is copied back when it has this size; one transaction more may be in it. */
    checkpoint: wal / 4,
    high,
    low: high * 0.94,
    /** Text that is written or trimmed in one transaction. */
    step,
    /** One server may have an eighth; the next lines of it, with their indexes, are part of that. */
    share: cap / 8 - step * 2,
    /** Text that is indexed in one transaction, and in one part of the index. */
    indexStep: clamp(cap / 256, 32 * 1024, 128 * 1024),
    part: clamp(cap / 32, 256 * 1024, 32 * MIB),
  }
}
export type Sizes = ReturnType<typeof sizesFor>

const clamp = (value: number, least: number, most: number) => Math.min(Math.max(value, least), most)

/** Keeps the files below the cap: the oldest lines go first. */
export class LogSpace {
  readonly #connection: Connection
  readonly #sizes: Sizes
  readonly #folder: string
  #trimming = false

  constructor(connection: Connection, sizes: Sizes, folder: string) {
    this.#connection = connection
    this.#sizes = sizes
    this.#folder = folder
    connection.exec(`
      PRAGMA wal_autocheckpoint = ${Math.floor(sizes.checkpoint / PAGE_BYTES)};
      PRAGMA journal_size_limit = ${Math.floor(sizes.checkpoint)};
    `)
    this.#limitFile()
  }

  get #used(): number {
    return (this.#connection.pragma('page_count') - this.#free) * PAGE_BYTES
  }

  get #free(): number {
    return this.#connection.pragma('freelist_count')
  }

  /**
   * Whether so much more text would go beyond the mark, or take the last of the disk: a log makes do with the
   * room it has before others have none. A line takes about twice its text, with its indexes.
   */
  isTight(moreBytes: number): boolean {
    const growth = moreBytes * 2 - this.#free * PAGE_BYTES
    return this.#used + moreBytes * 2 > this.#sizes.high || (growth > 0 && this.isDiskShort())
  }

  isDiskShort(): boolean {
    try {
      const { bavail, bsize } = statfsSync(this.#folder)
      return bavail * bsize < DISK_MARGIN
    } catch {
      return false // a file system that does not say; writing will show
    }
  }

  /** From the high mark down to the low one, a step at a time. */
  wantsTrim(): boolean {
    this.#trimming = this.#used > (this.#trimming ? this.#sizes.low : this.#sizes.high)
    return this.#trimming
  }

  /** Deletes some of the oldest lines and says what the oldest line is now; null when none is left. */
  trimStep(): number | null {
    const run = runOfLines(this.#connection, 0, Number.MAX_SAFE_INTEGER, this.#sizes.step)
    if (!run) return null
    this.#connection.transaction(() => {
      countDeleted(this.#connection, 'id <= ?', run.last)
      this.#connection.run('DELETE FROM logs WHERE id <= ?', run.last)
      this.#connection.run('DELETE FROM spans WHERE last_id <= ?', run.last)
    })
    return lowestId(this.#connection)
  }

  /** Gives room back that a clear has left, and says whether there is more. What the next lines will take stays. */
  shrinkStep(): boolean {
    const pages = this.#connection.pragma('page_count')
    const free = this.#free
    if (free < Math.max(64, pages / 8)) return false
    const kept = (pages - free) * PAGE_BYTES
    // So little is left that copying it is quicker than moving the end of the file forward page by page.
    if (kept < SMALL && kept * 4 < free * PAGE_BYTES) this.#connection.exec('VACUUM')
    else this.#connection.exec(`PRAGMA incremental_vacuum(${SHRINK_PAGES})`)
    this.#limitFile()
    return true
  }

  /** The disk is full: what the write-ahead log has taken can be used anew once it is copied back. */
  reuseWal(): void {
    this.#connection.exec('PRAGMA wal_checkpoint(RESTART)')
  }

  /** SQLite never limits a file to less than it has, so a cap that was lowered takes hold as the file shrinks. */
  #limitFile(): void {
    this.#connection.exec(`PRAGMA max_page_count = ${Math.floor(this.#sizes.file / PAGE_BYTES)}`)
  }
}
