import { AppError } from '../../kernel/errors.ts'
import type { Block, Change, Check, Level, MetricsStore, Trim } from '../../metrics/metrics-store.ts'
import type { SeriesRow } from '../../metrics/record/series.ts'
import {
  closeSqlite,
  type Sqlite,
  type SqliteStatement,
  sqliteTrouble,
  type Value,
} from '../sqlite/sqlite.ts'
import { beginAnew, openMetricsFile } from './file.ts'

interface MetricsDatabaseOptions {
  readonly path: string
  /** The file could not be used: the metrics have started anew, or are not stored at all. */
  readonly onTrouble: (message: string) => void
}

const LEVELS: readonly Level[] = ['seconds', 'minutes', 'hours']
const KEPT_CHECKS = 100
/** Rows that may go at once even when that is more than the share of them. */
const FEW_ROWS = 20

/** `metrics.db` behind one connection. */
export class MetricsDatabase implements MetricsStore {
  readonly #options: MetricsDatabaseOptions
  #database: Sqlite
  #statements = new Map<string, SqliteStatement>()
  #damage: unknown
  #closed = false

  constructor(options: MetricsDatabaseOptions) {
    this.#options = options
    this.#database = openMetricsFile(options.path, options.onTrouble)
  }

  load(): { series: SeriesRow[]; next_id: number; checks: Check[] } {
    try {
      const series = this.#prepared('SELECT * FROM series ORDER BY id').all().map(seriesOf)
      const last = this.#prepared("SELECT seq FROM sqlite_sequence WHERE name = 'series'").get()
      const checks = this.#prepared('SELECT * FROM checks ORDER BY id').all().map(checkOf)
      return { series, next_id: Number(last?.seq ?? 0) + 1, checks }
    } catch (error) {
      if (sqliteTrouble(error) !== 'damaged') throw error
      this.#beginAnew(error)
      return { series: [], next_id: 1, checks: [] }
    }
  }

  read(level: Level, from: number, to: number): Block[] {
    const sql = `SELECT start, chunk, block FROM ${level} WHERE start >= ? AND start < ? ORDER BY start, chunk`
    try {
      const rows = this.#prepared(sql).all(from, to)
      return rows.map(({ start, chunk, block }) => {
        return { level, start: Number(start), chunk: Number(chunk), bytes: block as Uint8Array }
      })
    } catch (cause) {
      if (sqliteTrouble(cause) !== 'damaged') throw cause
      this.#damage = cause // the next time something is saved the file is set aside
      const hint = 'They start anew within seconds; the damaged file is kept'
      throw new AppError('store_damaged', 'The metrics cannot be read', { hint, cause })
    }
  }

  one(level: Level, start: number, chunk: number): Uint8Array | undefined {
    const sql = `SELECT block FROM ${level} WHERE start = ? AND chunk = ?`
    try {
      return this.#prepared(sql).get(start, chunk)?.block as Uint8Array | undefined
    } catch (cause) {
      if (sqliteTrouble(cause) !== 'damaged') throw cause
      this.#damage = cause // the saving that follows sets the file aside
      return undefined
    }
  }

  save({ series, blocks, checks }: Change): 'saved' | 'begun_anew' {
    try {
      if (this.#damage !== undefined) throw this.#damage
      this.#transaction(() => {
        for (const row of series) this.#saveSeries(row)
        for (const { level, start, chunk, bytes } of blocks)
          this.#prepared(`INSERT OR REPLACE INTO ${level} VALUES (?, ?, ?)`).run(start, chunk, bytes)
        for (const check of checks) this.#saveCheck(check)
        for (const server_id of new Set(checks.map((check) => check.server_id))) this.#trimChecks(server_id)
      })
      return 'saved'
    } catch (error) {
      if (sqliteTrouble(error) !== 'damaged') throw error
      this.#beginAnew(error)
      return 'begun_anew'
    }
  }

  trim({ before, series = [], share }: Trim): void {
    this.#transaction(() => {
      for (const level of LEVELS) {
        const limit = before[level]
        if (limit !== undefined) this.#trimLevel(level, limit, share)
      }
      for (const id of series) this.#prepared('DELETE FROM series WHERE id = ?').run(id)
    })
  }

  forgetChecks(server_id: string): void {
    this.#prepared('DELETE FROM checks WHERE server_id = ?').run(server_id)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#statements.clear()
    closeSqlite(this.#database)
  }

  #saveSeries({ id, kind, server_id, tool, agent_type, name, labels, last_at }: SeriesRow): void {
    const sql = 'INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
    const labelsText = labels === null ? null : JSON.stringify(labels)
    this.#prepared(sql).run(id, kind, server_id, tool, agent_type, name, labelsText, last_at)
  }

  #saveCheck({ server_id, ts, ok, duration_ms, error_code }: Check): void {
    const sql = 'INSERT INTO checks (server_id, ts, ok, duration_ms, error_code) VALUES (?, ?, ?, ?, ?)'
    this.#prepared(sql).run(server_id, ts, ok ? 1 : 0, duration_ms, error_code)
  }

  #trimChecks(server_id: string): void {
    const last = 'SELECT id FROM checks WHERE server_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?'
    const sql = `DELETE FROM checks WHERE server_id = ? AND id <= (${last})`
    this.#prepared(sql).run(server_id, server_id, KEPT_CHECKS)
  }

  /** The oldest first, and all chunks of a start together. */
  #trimLevel(level: Level, before: number, share: number): void {
    const sql = `SELECT count(*) AS old FROM ${level} WHERE start < ?`
    const old = Number(this.#prepared(sql).get(before)?.old)
    if (old === 0) return
    const all = Number(this.#prepared(`SELECT count(*) AS rows FROM ${level}`).get()?.rows)
    const most = Math.max(FEW_ROWS, Math.floor(all * share))
    const cut =
      old <= most
        ? before
        : this.#prepared(`SELECT start FROM ${level} ORDER BY start LIMIT 1 OFFSET ?`).get(most)?.start
    this.#prepared(`DELETE FROM ${level} WHERE start < ?`).run(Number(cut))
  }

  #beginAnew(reason: unknown): void {
    this.#statements.clear()
    closeSqlite(this.#database)
    this.#database = beginAnew(this.#options.path, reason, this.#options.onTrouble)
    this.#damage = undefined
  }

  #transaction(work: () => void): void {
    this.#database.exec('BEGIN IMMEDIATE')
    try {
      work()
      this.#database.exec('COMMIT')
    } catch (error) {
      try {
        this.#database.exec('ROLLBACK')
      } catch {
        // SQLite has rolled back by itself, as it does when the disk is full
      }
      throw error
    }
  }

  #prepared(sql: string): SqliteStatement {
    const statement = this.#statements.get(sql) ?? this.#database.prepare(sql)
    this.#statements.set(sql, statement)
    return statement
  }
}

function seriesOf(row: Record<string, Value>): SeriesRow {
  const labels = row.labels === null ? null : JSON.parse(String(row.labels))
  return { ...row, id: Number(row.id), last_at: Number(row.last_at), labels } as SeriesRow
}

function checkOf({ server_id, ts, ok, duration_ms, error_code }: Record<string, Value>): Check {
  return {
    server_id: String(server_id),
    ts: Number(ts),
    ok: ok === 1,
    duration_ms: Number(duration_ms),
    error_code: error_code === null ? null : String(error_code),
  }
}
