import { LEVEL_RANK } from '../../../kernel/log.ts'
import type { StoredEntry } from '../../../observe/logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'
import type { Value } from '../../sqlite/sqlite.ts'
import { storable } from '../index/search-text.ts'
import { extendSpan, newestSpan, type Span, saveSpan } from '../index/time-spans.ts'
import { bytesOfLine, countWritten } from './server-shares.ts'

/** Lines per statement. The overhead of a statement is a third of the cost of a line. */
const LINES_PER_INSERT = 20

const insertOf = (lines: number) => `
  INSERT INTO logs (ts, level, source, stream, server_id, agent_type, tool, request_id, message, data, repeat, truncated)
  VALUES ${Array(lines).fill('(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}`
const INSERT_ONE = insertOf(1)
const INSERT_MANY = insertOf(LINES_PER_INSERT)

/** Writes lines, and in the same transaction the newest span and the servers' shares. */
export class LineWriter {
  readonly #connection: Connection
  #highestId: number
  #span: Span | undefined

  constructor(connection: Connection) {
    this.#connection = connection
    const sequence = "SELECT seq AS value FROM sqlite_sequence WHERE name = 'logs'"
    this.#highestId = connection.row<{ value: number }>(sequence)?.value ?? 0
    this.#span = newestSpan(connection)
  }

  /** The highest id ever assigned, even if its line was deleted. */
  get highestId(): number {
    return this.#highestId
  }

  /** Writes all entries or none. */
  write(entries: readonly StoredEntry[]): void {
    if (entries.length === 0) return
    const written = this.#connection.transaction(() => {
      const { batch, shares } = this.#insert(entries)
      const span = extendSpan(this.#span, batch)
      saveSpan(this.#connection, span)
      countWritten(this.#connection, shares)
      return { span, highestId: batch.last_id }
    })
    this.#span = written.span
    this.#highestId = written.highestId
  }

  /** Call after deleting lines: the newest span may be deleted too. */
  reload(): void {
    this.#span = newestSpan(this.#connection)
  }

  #insert(entries: readonly StoredEntry[]): { batch: Span; shares: ReadonlyMap<string, number> } {
    const batch = { first_id: 0, last_id: 0, min_ts: Infinity, max_ts: -Infinity }
    const shares = new Map<string, number>()
    let values: Value[] = []
    const store = (sql: string) => {
      batch.last_id = Number(this.#connection.prepared(sql).run(...values).lastInsertRowid)
      values = []
    }
    const many = entries.length - (entries.length % LINES_PER_INSERT)
    for (const [index, entry] of entries.entries()) {
      const server = label(entry.server_id)
      const message = storable(entry.message)
      values.push(
        entry.ts,
        LEVEL_RANK[entry.level],
        entry.source,
        entry.stream ?? null,
        server,
        label(entry.agent_type),
        label(entry.tool),
        label(entry.request_id),
        message,
        entry.data,
        entry.repeat,
        entry.truncated ? 1 : 0,
      )
      if (index >= many) store(INSERT_ONE)
      else if (index % LINES_PER_INSERT === LINES_PER_INSERT - 1) store(INSERT_MANY)
      batch.min_ts = Math.min(batch.min_ts, entry.ts)
      batch.max_ts = Math.max(batch.max_ts, entry.ts)
      if (server !== null && entry.source !== 'audit')
        shares.set(server, (shares.get(server) ?? 0) + bytesOfLine(message, entry.data))
    }
    batch.first_id = batch.last_id - entries.length + 1 // ids are consecutive within a transaction
    return { batch, shares }
  }
}

const label = (text: string | null | undefined) => (text == null ? null : storable(text))
