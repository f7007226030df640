import { openSqlite, type Sqlite, type SqliteStatement } from '../sqlite.ts'

export type Value = string | number | null

/** More than every shape of question a person asks in one sitting; each kept statement costs a few KiB. */
const KEPT_STATEMENTS = 100

/** One open database file with its prepared statements. Every call is complete when it returns. */
export class Connection {
  readonly #db: Sqlite
  readonly #statements = new Map<string, SqliteStatement>()

  constructor(path: string) {
    this.#db = openSqlite(path)
  }

  exec(sql: string): void {
    this.#db.exec(sql)
  }

  /** Says how many rows changed. */
  run(sql: string, ...values: Value[]): number {
    return Number(this.prepared(sql).run(...values).changes)
  }

  row<Row>(sql: string, ...values: Value[]): Row | undefined {
    return this.prepared(sql).get(...values) as Row | undefined
  }

  rows<Row>(sql: string, ...values: Value[]): Row[] {
    try {
      return this.prepared(sql).all(...values) as Row[]
    } catch (error) {
      throw withCode(error)
    }
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
        // SQLite has rolled back by itself, as it does when the disk is full
      }
      throw error
    }
  }

  /** For a loop that runs one statement many times. Ask anew after any other call: only the last ones are kept. */
  prepared(sql: string): SqliteStatement {
    const kept = this.#statements.get(sql)
    this.#statements.delete(sql)
    const statement = kept ?? this.#db.prepare(sql)
    this.#statements.set(sql, statement)
    if (this.#statements.size > KEPT_STATEMENTS) this.#forgetOldest()
    return statement
  }

  /**
   * Leaves the write-ahead log for good. `@photostructure/sqlite` cannot end statements, so that SQLite keeps
   * the connection behind the scenes until they are collected as garbage, and only then deletes the log: by its
   * name, which may belong to a new file by then.
   */
  close(): void {
    this.#statements.clear()
    try {
      this.#db.exec('PRAGMA journal_mode = DELETE')
    } catch {
      // another program reads the file; then the log stays, and whoever opens the file next goes on with it
    }
    this.#db.close()
  }

  #forgetOldest(): void {
    for (const sql of this.#statements.keys()) {
      this.#statements.delete(sql)
      return
    }
  }
}

/** `all` of `@photostructure/sqlite` says only in words what the others say with a code, too. */
function withCode(error: unknown): unknown {
  if (!(error instanceof Error) || 'errcode' in error) return error
  const errcode = CODES.get(error.message)
  return errcode === undefined ? error : Object.assign(error, { errcode })
}
const CODES = new Map([
  ['database is locked', 5],
  ['attempt to write a readonly database', 8],
  ['disk I/O error', 10],
  ['database disk image is malformed', 11],
  ['database or disk is full', 13],
  ['file is not a database', 26],
])
