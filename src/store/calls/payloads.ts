import type { SealedPayload } from '../../observe/calls/call-store.ts'
import type { Connection } from '../sqlite/connection.ts'

const SUM = 'SELECT sum(length(sealed)) AS value FROM payloads'

/** Encrypted arguments and results. */
export class Payloads {
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
