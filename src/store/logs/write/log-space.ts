import type { AuditIds, Discarded } from '../../../observe/logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'
import { mayGrow } from '../../sqlite/disk-space.ts'
import { lowestId, runOfLines } from '../index/time-spans.ts'
import { BYTES, countDeleted, DELETE_SPANS } from './server-shares.ts'

const PAGE_BYTES = 4096
const MIB = 1024 * 1024

/** The minimum for tables, indexes and a write-ahead log. */
const MIN_BYTES = 8 * MIB

const SMALL = 4 * MIB
const SHRINK_PAGES = 256

/** Sizes derived from the cap, which includes lines, indexes, text index and write-ahead log. */
export function sizesFor(maxBytes: number) {
  const cap = Math.max(maxBytes, MIN_BYTES)
  const wal = clamp(cap / 64, 2 * MIB, 16 * MIB)
  const high = Math.min(cap * 0.85, (cap - wal) * 0.9)
  const step = clamp(cap / 128, 64 * 1024, MIB)
  return {
    /** The maximum size of the file, enforced by SQLite. */
    file: cap - wal,
    /** A write-ahead log of this size is checkpointed; it may grow by one more transaction. */
    checkpoint: wal / 4,
    high,
    low: high * 0.94,
    /** Bytes of text written or trimmed in one transaction. */
    step,
    /** An eighth of the cap for one server, minus its next lines and their indexes. */
    share: cap / 8 - step * 2,
    /** Bytes of text indexed in one transaction, and in one part of the index. */
    indexStep: clamp(cap / 256, 32 * 1024, 128 * 1024),
    part: clamp(cap / 32, 256 * 1024, 32 * MIB),
  }
}
export type Sizes = ReturnType<typeof sizesFor>

const clamp = (value: number, min: number, max: number) => Math.min(Math.max(value, min), max)

/** Keeps the files below the cap by deleting the oldest lines. */
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

  /** Whether this much more text would exceed the high mark. A line with its indexes takes about twice the size of its text. */
  isTight(moreBytes: number): boolean {
    return this.#used + moreBytes * 2 > this.#sizes.high
  }

  /** How many bytes must be freed in the file before this much text is added, because the disk is nearly full. */
  missing(moreBytes: number): number {
    const growth = moreBytes * 2 - this.#free * PAGE_BYTES
    return growth > 0 && !this.mayGrow(growth) ? growth : 0
  }

  /** The log stops growing before other programs run out of space. */
  mayGrow(bytes: number): boolean {
    return mayGrow(this.#folder, this.#connection.pragma('page_count') * PAGE_BYTES, bytes)
  }

  /** True from the high mark down to the low mark. */
  needsTrim(): boolean {
    this.#trimming = this.#used > (this.#trimming ? this.#sizes.low : this.#sizes.high)
    return this.#trimming
  }

  /** Deletes some of the oldest lines and returns the id of the oldest remaining line, or null. */
  trimStep(): number | null {
    const run = runOfLines(this.#connection, 0, Number.MAX_SAFE_INTEGER, this.#sizes.step)
    if (!run) return null
    this.#connection.transaction(() => {
      saveAuditTrimmed(this.#connection, run.last)
      countDeleted(this.#connection, 'id <= ?', run.last)
      this.#connection.run('DELETE FROM logs WHERE id <= ?', run.last)
      this.#connection.run('DELETE FROM spans WHERE last_id <= ?', run.last)
    })
    return lowestId(this.#connection)
  }

  /** Returns free pages to the file system, except what the next lines will use. Returns whether it did any work. */
  shrinkStep(): boolean {
    const pages = this.#connection.pragma('page_count')
    const free = this.#free
    if (free < Math.max(64, pages / 8)) return false
    const kept = (pages - free) * PAGE_BYTES
    // Little is left: copying it is faster than an incremental vacuum.
    if (kept < SMALL && kept * 4 < free * PAGE_BYTES) this.#connection.exec('VACUUM')
    else this.#connection.exec(`PRAGMA incremental_vacuum(${SHRINK_PAGES})`)
    this.#limitFile()
    return true
  }

  /** Whether this much text does not fit into the largest file that SQLite allows. */
  isAtLimit(moreBytes: number): boolean {
    const pages =
      this.#connection.pragma('max_page_count') - this.#connection.pragma('page_count') + this.#free
    return pages * PAGE_BYTES < moreBytes * 2 + this.#sizes.step
  }

  /** Checkpoints the write-ahead log, so that its space can be reused on a full disk. */
  reuseWal(): void {
    this.#connection.exec('PRAGMA wal_checkpoint(RESTART)')
  }

  /** SQLite never sets the limit below the current size, so call it again when the file shrinks. */
  #limitFile(): void {
    this.#connection.exec(`PRAGMA max_page_count = ${Math.floor(this.#sizes.file / PAGE_BYTES)}`)
  }
}

const AUDIT_ID = "CASE WHEN json_valid(data) THEN json_extract(data, '$.audit_id') END"
const AUDIT_LINES = "logs INDEXED BY logs_source WHERE source = 'audit' AND source <> 'server'"

/** The audit rows that have a line. */
export function readAuditIds(connection: Connection): AuditIds {
  const sql = `SELECT ${AUDIT_ID} AS id FROM ${AUDIT_LINES}`
  const ids = connection.rows<{ id: unknown }>(sql).map(({ id }) => id)
  const trimmed = connection.row<{ value: number }>("SELECT value FROM meta WHERE key = 'audit_trimmed_to'")
  return { trimmed_to: trimmed?.value ?? 0, stored: ids.filter((id) => Number.isSafeInteger(id)) as number[] }
}

/** Remembers which audit lines are deleted because of their age. Call in the transaction that deletes them. */
function saveAuditTrimmed(connection: Connection, lastId: number): void {
  const highest = `SELECT max(${AUDIT_ID}) AS id FROM ${AUDIT_LINES} AND id <= ?`
  const id = connection.row<{ id: number | null }>(highest, lastId)?.id
  if (typeof id !== 'number') return
  const sql = `INSERT INTO meta (key, value) VALUES ('audit_trimmed_to', ?)
    ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`
  connection.run(sql, id)
}

const MAX_ROWS = 1000

interface Given {
  readonly ids: readonly number[]
  readonly lines: readonly Discarded[]
}

/**
 * Deletes the oldest lines until about this many bytes are free, at most 1000 lines. Audit lines stay: they are few, and
 * they record changes that no other line shows.
 */
export function deleteOldest(connection: Connection, bytes: number): Given {
  const rows = connection.rows<{ id: number; bytes: number }>(
    `SELECT id, ${BYTES} AS bytes FROM logs WHERE source <> 'audit' ORDER BY id LIMIT ${MAX_ROWS}`,
  )
  let freed = 0
  const enough = rows.findIndex((row) => {
    freed += row.bytes
    return freed >= bytes
  })
  const ids = rows.slice(0, enough === -1 ? rows.length : enough + 1).map(({ id }) => id)
  const [first, last] = [ids.at(0), ids.at(-1)]
  if (first === undefined || last === undefined) return { ids, lines: [] }
  const lines = connection.transaction(() => {
    const found = connection.rows<{ server_id: string | null; lines: number }>(COUNT, last)
    countDeleted(connection, 'id <= ?', last)
    connection.run("DELETE FROM logs WHERE id <= ? AND source <> 'audit'", last)
    connection.run(DELETE_SPANS, first, last)
    return found
  })
  return { ids, lines }
}

/** Lines by the server that wrote them; null for all others, including notes about a server. */
const COUNT = `
  SELECT iif(source = 'server' AND stream IS NOT NULL, server_id, NULL) AS server_id, sum(repeat) AS lines
  FROM logs NOT INDEXED WHERE id <= ? AND source <> 'audit' GROUP BY 1`
