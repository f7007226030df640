import { closeSqlite, openSqlite, type Sqlite, type SqliteStatement, type Value } from './sqlite.ts'

/** Covers the different queries of a typical session; each statement takes a few KiB. */
const KEPT_STATEMENTS = 100

/** An open database file with its prepared statements. Every call is synchronous. */
export class Connection {
  readonly #db: Sqlite
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(path: string) {
    this.#db = openSqlite(path)
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  /** Returns the number of changed rows. */
  run(sql: string, ...values: Value[]): number {
    return Number(this.prepared(sql).run(...values).changes)
  }

  row<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.prepared(sql).get(...values) as Row | undefined
  }

  rows<Row>(sql: string, ...values: Value[]): Row[] {
    return this.prepared(sql).all(...values) as Row[]
  }

  pragma(name: string): number {
    return Number(Object.values(this.row<Record<string, Value>>(`PRAGMA ${name}`) ?? {})[0] ?? 0)
  }

  transaction<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE')
    try {
      const result = work()
      this.#db.exec('COMMIT')
      return result
    } catch (error) {
      try {
        this.#db.exec('ROLLBACK')
      } catch {
        // SQLite has rolled back already, as it does when the disk is full
      }
      throw error
    }
  }

  /** For a loop that runs one statement. Call it again after other calls: the least recently used statements are dropped. */
  prepared(sql: string): SqliteStatement {
    const kept = this.#statements.get(sql)
    this.#statements.delete(sql)
    const statement = kept ?? this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    const oldest = this.#statements.size > KEPT_STATEMENTS ? this.#statements.keys().next().value : undefined
    if (oldest !== undefined) this.#statements.delete(oldest)
    return statement
  }

  close(): void {
    this.#statements.clear()
    closeSqlite(this.#db)
  }
}
