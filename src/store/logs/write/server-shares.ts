import type { StoredEntry } from '../../../observe/logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'

/** Approximate overhead of a line in the table and its indexes. Audit lines do not count. */
const LINE_BYTES = 80
export const BYTES = `2 * (octet_length(message) + coalesce(octet_length(data), 0)) + ${LINE_BYTES}`
const MAX_ROWS = 1000

/**
 * Limits each server to an eighth of the log, so that a server that floods the log displaces its own oldest lines.
 * Sizes are updated in the transaction that writes or deletes lines; computing them would read the whole log.
 */
export class ServerShares {
  readonly #connection: Connection
  readonly #sizes: { readonly share: number; readonly step: number }
  #trimming: string | undefined

  constructor(connection: Connection, sizes: { readonly share: number; readonly step: number }) {
    this.#connection = connection
    this.#sizes = sizes
  }

  /** A server that exceeds its share. */
  exceeded(): string | undefined {
    const sql = 'SELECT server_id FROM shares WHERE bytes > ? LIMIT 1'
    return this.#connection.row<{ server_id: string }>(sql, this.#sizes.share)?.server_id
  }

  /** The server to trim next. Trimming continues until slightly below the share. */
  needsTrim(): string | undefined {
    const low = this.#sizes.share * 0.94
    if (this.#trimming === undefined || this.#bytesOf(this.#trimming) <= low) this.#trimming = this.exceeded()
    return this.#trimming
  }

  /** Deletes some of the server's oldest lines and returns their ids. */
  trimStep(server: string): readonly number[] {
    const ids = this.#oldest(server)
    const [first, last] = [ids.at(0), ids.at(-1)]
    this.#connection.transaction(() => {
      if (first === undefined || last === undefined) {
        this.#connection.run('DELETE FROM shares WHERE server_id = ?', server) // a size without lines
        return
      }
      const where = "server_id IS NOT NULL AND server_id = ? AND source <> 'audit' AND id BETWEEN ? AND ?"
      const bytes = `SELECT sum(${BYTES}) FROM logs INDEXED BY logs_server WHERE ${where}`
      const count = `UPDATE shares SET bytes = bytes - (${bytes}) WHERE server_id = ?`
      this.#connection.run(count, server, first, last, server)
      this.#connection.run(`DELETE FROM logs INDEXED BY logs_server WHERE ${where}`, server, first, last)
      this.#connection.run(DELETE_SPANS, first, last)
    })
    return ids
  }

  #oldest(server: string): readonly number[] {
    const rows = this.#connection.rows<{ id: number; bytes: number }>(
      `SELECT id, ${BYTES} AS bytes FROM logs INDEXED BY logs_server
       WHERE server_id IS NOT NULL AND server_id = ? AND source <> 'audit' ORDER BY id LIMIT ${MAX_ROWS}`,
      server,
    )
    let bytes = 0
    const end = rows.findIndex((row) => {
      bytes += row.bytes
      return bytes > this.#sizes.step * 2
    })
    return rows.slice(0, end === -1 ? rows.length : Math.max(end, 1)).map(({ id }) => id)
  }

  #bytesOf(server: string): number {
    const sql = 'SELECT bytes FROM shares WHERE server_id = ?'
    return this.#connection.row<{ bytes: number }>(sql, server)?.bytes ?? 0
  }
}

/** Deletes spans without lines in a range of deleted ids. A flood would otherwise leave thousands of them. */
export const DELETE_SPANS = `
  DELETE FROM spans
  WHERE first_id BETWEEN coalesce((SELECT max(first_id) FROM spans WHERE first_id <= ?), 0) AND ?
  AND NOT EXISTS (SELECT 1 FROM logs WHERE id BETWEEN first_id AND last_id)`

/** Call in the transaction that writes the lines. */
export function countWritten(connection: Connection, written: ReadonlyMap<string, number>): void {
  const sql = `INSERT INTO shares (server_id, bytes) VALUES (?, ?)
    ON CONFLICT (server_id) DO UPDATE SET bytes = bytes + excluded.bytes`
  for (const [server, bytes] of written) connection.run(sql, server, bytes)
}

/** Call in the transaction that deletes the lines, before the deletion. */
export function countDeleted(connection: Connection, where: string, value: string | number): void {
  connection.run(
    `UPDATE shares SET bytes = shares.bytes - gone.bytes FROM (${sharesOf(where)}) AS gone
     WHERE shares.server_id = gone.server_id`,
    value,
  )
  connection.run('DELETE FROM shares WHERE bytes <= 0')
}

/** `NOT INDEXED`: through an index SQLite would read every line of every server. */
export const sharesOf = (where: string): string => `
  SELECT server_id, sum(${BYTES}) AS bytes FROM logs NOT INDEXED
  WHERE server_id IS NOT NULL AND source <> 'audit' AND ${where} GROUP BY server_id`

/** Equals `BYTES` for a stored line. */
export const bytesOfLine = (message: string, data: StoredEntry['data']): number =>
  2 * (Buffer.byteLength(message) + (data === null ? 0 : Buffer.byteLength(data))) + LINE_BYTES
