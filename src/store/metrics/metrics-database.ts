import { AppError } from '../../kernel/errors.ts'
import type {
  Block,
  Change,
  Check,
  Level,
  MetricsStore,
  ServerPeriod,
  Trim,
} from '../../observe/metrics/metrics-store.ts'
import type { SeriesRow } from '../../observe/metrics/record/series-table.ts'
import type { Connection } from '../sqlite/connection.ts'
import type { Value } from '../sqlite/sqlite.ts'
import { sqliteErrorKind } from '../sqlite/sqlite-errors.ts'
import { openMetricsFile, replaceMetricsFile } from './open-metrics-database.ts'

interface MetricsDatabaseOptions {
  readonly path: string
  /** Called when the file cannot be used: it was replaced by an empty one, or the metrics are kept in memory. */
  readonly onTrouble: (message: string) => void
}

const KEPT_CHECKS = 100

/** `metrics.db` behind one connection. */
export class MetricsDatabase implements MetricsStore {
  readonly #options: MetricsDatabaseOptions
  #connection: Connection
  #damage: unknown
  #closed = false

  constructor(options: MetricsDatabaseOptions) {
    this.#options = options
    this.#connection = openMetricsFile(options.path, options.onTrouble)
  }

  load(): ReturnType<MetricsStore['load']> {
    try {
      const sequence = "SELECT seq AS value FROM sqlite_sequence WHERE name = 'series'"
      return {
        series: this.#connection.rows<Row>('SELECT * FROM series ORDER BY id').map(seriesOf),
        next_id: this.#number(sequence) + 1,
        checks: this.#connection.rows<Row>('SELECT * FROM checks ORDER BY id').map(checkOf),
        newest: this.#number('SELECT max(start) AS value FROM minutes') || undefined,
      }
    } catch (error) {
      if (sqliteErrorKind(error) !== 'damaged') throw error
      this.#replaceFile(error)
      return { series: [], next_id: 1, checks: [] }
    }
  }

  read(level: Level, from: number, to: number): Block[] {
    const sql = `SELECT start, chunk, block AS bytes FROM ${level} WHERE start >= ? AND start < ? ORDER BY start, chunk`
    const rows = this.#read(() => this.#connection.rows<Omit<Block, 'level'>>(sql, from, to))
    return rows.map((row) => ({ level, ...row }))
  }

  one(level: Level, start: number, chunk: number): Uint8Array | undefined {
    const sql = `SELECT block FROM ${level} WHERE start = ? AND chunk = ?`
    try {
      return this.#connection.row<{ block: Uint8Array }>(sql, start, chunk)?.block
    } catch (cause) {
      if (sqliteErrorKind(cause) !== 'damaged') throw cause
      this.#damage = cause // the save that follows sets the file aside
      return undefined
    }
  }

  periods(
    ...[level, from, to, step, server_id]: Parameters<MetricsStore['periods']>
  ): readonly ServerPeriod[] {
    const ofServer = server_id === undefined ? '' : 'AND server_id = ?'
    // The cast makes the division one of integers: `node:sqlite` binds every number as a REAL.
    const sql = `SELECT server_id, start / CAST(? AS INTEGER) * ? AS start, sum(expected_ms) AS expected_ms, sum(down_ms) AS down_ms,
        sum(sampled_ms) AS sampled_ms, sum(cpu) AS cpu, max(cpu_max) AS cpu_max, sum(rss) AS rss, max(rss_max) AS rss_max
      FROM server_${level} WHERE start >= ? AND start < ? ${ofServer} GROUP BY 1, 2`
    const values = server_id === undefined ? [] : [server_id]
    return this.#read(() => this.#connection.rows<ServerPeriod>(sql, step, step, from, to, ...values))
  }

  save({ series, blocks, checks, periods }: Change): 'saved' | 'recreated' {
    try {
      if (this.#damage !== undefined) throw this.#damage
      this.#connection.transaction(() => {
        for (const row of series) this.#saveSeries(row)
        for (const { level, start, chunk, bytes } of blocks)
          this.#connection.run(`INSERT OR REPLACE INTO ${level} VALUES (?, ?, ?)`, start, chunk, bytes)
        for (const check of checks) this.#saveCheck(check)
        for (const [level, changed] of Object.entries(periods))
          for (const period of changed) this.#savePeriod(level, period)
        for (const server_id of new Set(checks.map((check) => check.server_id))) this.#trimChecks(server_id)
      })
      return 'saved'
    } catch (error) {
      if (sqliteErrorKind(error) !== 'damaged') throw error
      this.#replaceFile(error)
      return 'recreated'
    }
  }

  trim({ before, serversBefore, series = [], share }: Trim): void {
    this.#connection.transaction(() => {
      for (const [level, limit] of Object.entries(before)) this.#trimTable(level, limit, share)
      for (const [level, limit] of Object.entries(serversBefore ?? {}))
        this.#trimTable(`server_${level}`, limit, share)
      for (const id of series) this.#connection.run('DELETE FROM series WHERE id = ?', id)
    })
  }

  forgetChecks(server_id: string): void {
    this.#connection.run('DELETE FROM checks WHERE server_id = ?', server_id)
  }

  close(): void {
    if (this.#closed) return
    this.#closed = true
    this.#connection.close()
  }

  #saveSeries({ id, kind, server_id, tool, agent_type, name, labels, last_at }: SeriesRow): void {
    const sql = 'INSERT OR REPLACE INTO series VALUES (?, ?, ?, ?, ?, ?, ?, ?)'
    const labelsText = labels === null ? null : JSON.stringify(labels)
    this.#connection.run(sql, id, kind, server_id, tool, agent_type, name, labelsText, last_at)
  }

  #saveCheck({ server_id, ts, ok, duration_ms, error_code }: Check): void {
    const sql = 'INSERT INTO checks (server_id, ts, ok, duration_ms, error_code) VALUES (?, ?, ?, ?, ?)'
    this.#connection.run(sql, server_id, ts, ok ? 1 : 0, duration_ms, error_code)
  }

  #trimChecks(server_id: string): void {
    const last = 'SELECT id FROM checks WHERE server_id = ? ORDER BY id DESC LIMIT 1 OFFSET ?'
    const sql = `DELETE FROM checks WHERE server_id = ? AND id <= (${last})`
    this.#connection.run(sql, server_id, server_id, KEPT_CHECKS)
  }

  #savePeriod(level: string, { server_id, start, ...sums }: ServerPeriod): void {
    const { expected_ms, down_ms, sampled_ms, cpu, cpu_max, rss, rss_max } = sums
    const values = [server_id, expected_ms, down_ms, sampled_ms, cpu, cpu_max, rss, rss_max]
    this.#connection.run(addTo(`server_${level}`), start, ...values)
  }

  /** Deletes the oldest rows first, and all rows of a start together. */
  #trimTable(table: string, before: number, share: number): void {
    const count = `SELECT count(*) AS value FROM ${table}`
    const old = this.#number(`${count} WHERE start < ?`, before)
    if (old === 0) return
    const most = Math.floor(this.#number(count) * share)
    const firstKept = `SELECT start AS value FROM ${table} ORDER BY start LIMIT 1 OFFSET ?`
    const second = `SELECT start AS value FROM ${table} WHERE start > (SELECT min(start) FROM ${table}) LIMIT 1`
    const end = old <= most ? before : Math.max(this.#number(firstKept, most), this.#number(second) || before)
    this.#connection.run(`DELETE FROM ${table} WHERE start < ?`, end)
  }

  /** Damage that a read finds is mended by the next save. */
  #read<T>(read: () => T): T {
    try {
      return read()
    } catch (cause) {
      if (sqliteErrorKind(cause) !== 'damaged') throw cause
      this.#damage = cause
      const hint = 'The next save replaces the file within seconds; the damaged file is kept'
      throw new AppError('store_damaged', 'The metrics cannot be read', { hint, cause })
    }
  }

  #number(sql: string, ...values: Value[]): number {
    return this.#connection.row<{ value: number }>(sql, ...values)?.value ?? 0
  }

  #replaceFile(reason: unknown): void {
    this.#connection.close()
    this.#connection = replaceMetricsFile(this.#options.path, reason, this.#options.onTrouble)
    this.#damage = undefined
  }
}

const addTo = (table: string): string => `
  INSERT INTO ${table} (start, server_id, expected_ms, down_ms, sampled_ms, cpu, cpu_max, rss, rss_max)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (start, server_id) DO UPDATE SET
    expected_ms = expected_ms + excluded.expected_ms, down_ms = down_ms + excluded.down_ms,
    sampled_ms = sampled_ms + excluded.sampled_ms, cpu = cpu + excluded.cpu, rss = rss + excluded.rss,
    cpu_max = max(cpu_max, excluded.cpu_max), rss_max = max(rss_max, excluded.rss_max)`

type Row = Record<string, Value>

function seriesOf(row: Row): SeriesRow {
  const labels = row.labels === null ? null : JSON.parse(String(row.labels))
  return { ...row, id: Number(row.id), last_at: Number(row.last_at), labels } as SeriesRow
}

function checkOf({ server_id, ts, ok, duration_ms, error_code }: Row): Check {
  return {
    server_id: String(server_id),
    ts: Number(ts),
    ok: ok === 1,
    duration_ms: Number(duration_ms),
    error_code: error_code === null ? null : String(error_code),
  }
}
