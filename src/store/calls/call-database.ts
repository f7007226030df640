import type {
  CallFilter,
  CallPage,
  CallPageRequest,
  CallRecord,
  SealedPayload,
} from '../../observe/calls/call-store.ts'
import type { Connection } from '../sqlite/connection.ts'
import { blockFilter, isWithin, matchingRows } from './block-filter.ts'
import { type CallHead, headAt, type NewBlock } from './call-block.ts'
import { Blocks, type StoredBlock } from './stored-blocks.ts'

export interface Limits {
  readonly maxRows: number
  readonly maxDays: number
  readonly maxPayloadBytes: number
  readonly maxPayloadDays: number
}

interface Found {
  readonly id: number
  readonly block: StoredBlock
  readonly row: number
  head: CallHead | undefined
}

const DAY_MS = 24 * 3_600_000
const MAX_TOTAL = 10_000

/** `calls.db` behind one connection. */
export class CallDatabase {
  readonly #limits: Limits
  readonly #blocks: Blocks
  readonly payloads: Payloads

  constructor(connection: Connection, limits: Limits) {
    this.#limits = limits
    this.#blocks = new Blocks(connection)
    this.payloads = new Payloads(connection, limits.maxPayloadBytes)
  }

  get highestId(): number {
    return this.#blocks.all[0]?.last_id ?? 0
  }

  /** When the newest call began. */
  get newestAt(): number | undefined {
    const times = this.#blocks.all.map(({ max_at }) => max_at)
    return times.length === 0 ? undefined : times.reduce((a, b) => Math.max(a, b))
  }

  append(blocks: readonly NewBlock[]): void {
    this.#blocks.add(blocks)
    while (this.#blocks.rows > this.#limits.maxRows && this.#dropOldestBlock());
  }

  page({ filter, limit, before }: CallPageRequest): CallPage {
    let found: Found[] = []
    let total = 0
    for (const block of this.#blocks.all) {
      const isEnough = found.length > limit && (found[limit]?.id ?? 0) > block.last_id
      if (isEnough && total > MAX_TOTAL) break
      if (!mayMatch(block, filter)) continue
      const { rows, columns } = this.#matching(block, filter)
      total += rows.length
      if (isEnough || !columns) continue
      for (const row of rows) {
        const id = columns.keys.call_id[row] ?? 0
        if (before === null || id < before) found.push({ id, block, row, head: undefined })
      }
      // Blocks overlap where calls took long, so the newest ones of all blocks so far are chosen.
      if (found.length > limit) found = found.sort(newestFirst).slice(0, limit + 1)
      for (const each of found) if (each.block === block) each.head = headAt(columns, each.row)
    }
    const shown = found.sort(newestFirst).slice(0, limit)
    const next = found.length > limit ? (shown.at(-1)?.id ?? null) : null
    return { items: this.#withDetails(shown), total: total > MAX_TOTAL ? null : total, next }
  }

  find(id: number): CallRecord | undefined {
    for (const block of this.#blocks.all) {
      if (id < block.first_id || id > block.last_id) continue
      const keys = this.#blocks.keys(block)
      const row = keys.call_id.indexOf(id)
      if (row < 0) continue
      const head = headAt({ ...this.#blocks.filters(block), keys }, row)
      return this.#withDetails([{ id, block, row, head }])[0]
    }
    return undefined
  }

  /**
   * Deletes what is older than its limit, at most a tenth of the blocks at once: a clock that jumps must not delete
   * everything.
   */
  trim(now: number): void {
    const { all } = this.#blocks
    const oldest = now - this.#limits.maxDays * DAY_MS
    const expired = all.filter(({ max_at }) => max_at < oldest).reverse()
    for (const block of expired.slice(0, Math.ceil(all.length / 10))) this.#blocks.delete(block)
    this.payloads.trim(now - this.#limits.maxPayloadDays * DAY_MS)
  }

  /** Frees space for new calls: payloads first. False when there is nothing to delete. */
  dropOldest(): boolean {
    return this.payloads.dropOldest() || this.#dropOldestBlock()
  }

  #dropOldestBlock(): boolean {
    const block = this.#blocks.all.at(-1)
    if (block) this.#blocks.delete(block)
    return block !== undefined
  }

  #matching(block: StoredBlock, filter: CallFilter) {
    const { names, filters } = this.#blocks.filters(block)
    const ofBlock = blockFilter(filter, names, () => this.#blocks.folded(block))
    const rows = ofBlock ? matchingRows(filters, ofBlock) : []
    if (rows.length === 0) return { rows }
    const keys = this.#blocks.keys(block)
    const isWhole = block.min_at >= (filter.since ?? -Infinity) && block.max_at <= (filter.until ?? Infinity)
    return {
      rows: isWhole ? rows : rows.filter(isWithin(filter, keys)),
      columns: { names, filters, keys },
    }
  }

  #withDetails(found: readonly Found[]): CallRecord[] {
    const readers = new Map<StoredBlock, ReturnType<Blocks['details']>>()
    return found.flatMap(({ block, row, head }) => {
      const details = readers.get(block) ?? this.#blocks.details(block)
      readers.set(block, details)
      return head ? [{ ...head, ...details(row) }] : []
    })
  }
}

const newestFirst = (a: Found, b: Found): number => b.id - a.id

const mayMatch = ({ min_at, max_at, max_ms }: StoredBlock, { since, until, min_ms }: CallFilter): boolean =>
  max_at >= (since ?? -Infinity) && min_at <= (until ?? Infinity) && max_ms >= (min_ms ?? 0)

const SUM = 'SELECT sum(length(sealed)) AS value FROM payloads'

/** Encrypted arguments and results. */
class Payloads {
  readonly #connection: Connection
  readonly #maxBytes: number
  #bytes: number

  constructor(connection: Connection, maxBytes: number) {
    this.#connection = connection
    this.#maxBytes = maxBytes
    this.#bytes = this.#sum()
  }

  save(payloads: readonly SealedPayload[]): void {
    this.#connection.transaction(() => {
      for (const { call_id, at, sealed } of payloads)
        this.#connection.run('INSERT OR REPLACE INTO payloads VALUES (?, ?, ?)', call_id, at, sealed)
    })
    this.#bytes += payloads.reduce((sum, { sealed }) => sum + sealed.length, 0)
    while (this.#bytes > this.#maxBytes && this.dropOldest());
  }

  find(call_id: number): string | undefined {
    const sql = 'SELECT sealed FROM payloads WHERE call_id = ?'
    return this.#connection.row<{ sealed: string }>(sql, call_id)?.sealed
  }

  /** False when there is none. */
  dropOldest(): boolean {
    const sql = 'SELECT call_id, length(sealed) AS bytes FROM payloads ORDER BY call_id LIMIT 1'
    const oldest = this.#connection.row<{ call_id: number; bytes: number }>(sql)
    if (!oldest) return false
    this.#connection.run('DELETE FROM payloads WHERE call_id = ?', oldest.call_id)
    this.#bytes -= oldest.bytes
    return true
  }

  /** Deletes those from before a time, at most a tenth of all at once. */
  trim(before: number): void {
    const tenth = '(SELECT count(*) / 10 + 1 FROM payloads)'
    const some = `SELECT call_id FROM payloads WHERE at < ? ORDER BY call_id LIMIT ${tenth}`
    if (this.#connection.run(`DELETE FROM payloads WHERE call_id IN (${some})`, before) > 0)
      this.#bytes = this.#sum()
  }

  clear(): void {
    if (this.#connection.run('DELETE FROM payloads') > 0) this.#connection.exec('PRAGMA incremental_vacuum')
    this.#bytes = 0
  }

  #sum(): number {
    return this.#connection.row<{ value: number | null }>(SUM)?.value ?? 0
  }
}
