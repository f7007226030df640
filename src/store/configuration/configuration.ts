import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type InsertObject, Kysely, SqliteDialect, sql, type Transaction } from 'kysely'
import { AppError, diskFull } from '../../kernel/errors.ts'
import { StartError } from '../../kernel/exit-codes.ts'
import type { AuditEntry, FactBus, Facts } from '../../kernel/fact-bus.ts'
import { setAside } from '../sqlite/database-file.ts'
import { DiskReserve } from '../sqlite/disk-space.ts'
import { closeSqlite, type Sqlite, type Value } from '../sqlite/sqlite.ts'
import { sqliteErrorKind } from '../sqlite/sqlite-errors.ts'
import { Backups } from './backups.ts'
import { MIGRATIONS } from './migrations.ts'
import { type AfterDamage, openIntact, refuseDamaged } from './open-configuration-database.ts'
import type { Tables } from './tables.ts'

const CHECK_EVERY_MS = 60_000
/** By number and not by age: a wrong clock must not delete the history. */
const MAX_AUDIT_ROWS = 100_000
const TRIM_EVERY = 1000

type Db = Kysely<Tables>
export type Trx = Transaction<Tables> | Db

interface Options {
  readonly folder: string
  readonly facts: FactBus
  readonly afterDamage?: AfterDamage | undefined
  /** How long a change waits for a lock that another program holds. */
  readonly busyMs?: number
  /** Called for failures that do not fail a change, such as a failed backup. */
  readonly onTrouble?: (message: string, error: unknown) => void
}

type Work<T> = (trx: Trx) => Promise<[result: T, audit: AuditEntry | readonly AuditEntry[] | null]>

interface ChangeOptions<T> {
  /** The change frees space, so it is allowed on a full disk. */
  readonly frees?: boolean
  /** Called after the commit and before the next change starts. */
  readonly committed?: (result: T) => unknown
}

/**
 * The configuration database: WAL with `synchronous=FULL`, so acknowledged changes survive a power cut. Every change
 * goes through `change()`, which commits it together with its audit row.
 */
export class ConfigurationDatabase {
  readonly db: Db
  readonly #backups: Backups
  readonly reserve: DiskReserve
  readonly #sqlite: Sqlite
  readonly #facts: FactBus
  readonly #busyMs: number
  readonly #path: string
  readonly #inode: number
  readonly #onTrouble: NonNullable<Options['onTrouble']>
  #ready = false
  /** Limits how often `check` scans the whole file: a scan takes milliseconds, and `/api/health` is public. */
  #checkDue = 0
  #closed = false

  private constructor(sqlite: Sqlite, path: string, backups: Backups, options: Options) {
    this.#sqlite = sqlite
    this.db = new Kysely({ dialect: kyselyDialect(sqlite) })
    this.#backups = backups
    this.reserve = new DiskReserve(options.folder)
    this.#facts = options.facts
    this.#busyMs = options.busyMs ?? 2000
    this.#onTrouble = options.onTrouble ?? (() => {})
    this.#path = path
    this.#inode = statSync(path).ino
  }

  static async open(options: Options): Promise<ConfigurationDatabase> {
    const path = join(options.folder, 'toolroom.db')
    const backups = new Backups(options.folder)
    const sqlite = openIntact(path, backups, options.afterDamage)
    const database = new ConfigurationDatabase(sqlite, path, backups, options)
    try {
      await database.#migrate()
      database.reserve.ensure()
      await database.#backUpIfPossible()
      database.#ready = true
      return database
    } catch (error) {
      await database.close()
      throw error
    }
  }

  /** Sets the file aside because a row is damaged, and returns the error to throw. */
  async refuse(why: string): Promise<StartError> {
    await this.close()
    return refuseDamaged(setAside(this.#path), this.#backups.newest(), why)
  }

  /** Runs a change and writes its audit rows in the same transaction. */
  async change<T>(work: Work<T>, options: ChangeOptions<T> = {}): Promise<T> {
    if (!options.frees && !this.reserve.ensure()) throw diskFull(FULL)
    try {
      return await this.#transact(work, options)
    } catch (error) {
      if (sqliteErrorKind(error) !== 'full') throw appErrorOf(error)
      this.reserve.release()
      if (!options.frees) throw diskFull(FULL, error)
      return await this.#transact(work, options).catch((again: unknown) => Promise.reject(appErrorOf(again)))
    }
  }

  /** Writes one row in place of that with its key, if there is one. */
  put<T extends keyof Tables>(
    table: T,
    row: InsertObject<Tables, T>,
    audit: AuditEntry | null,
    options?: ChangeOptions<void>,
  ): Promise<void> {
    return this.change(async (trx) => {
      await trx.replaceInto(table).values(row).execute()
      return [undefined, audit]
    }, options)
  }

  /** Deletes the rows with this value. */
  delete<T extends keyof Tables>(
    table: T,
    [column, value]: readonly [keyof Tables[T] & string, string],
    audit: AuditEntry | null,
    committed: () => unknown,
  ): Promise<void> {
    return this.change(
      async (trx) => {
        await sql`delete from ${sql.table(table)} where ${sql.ref(column)} = ${value}`.execute(trx)
        return [undefined, audit]
      },
      { frees: true, committed },
    )
  }

  /** Writes an audit row for a change outside of this database. */
  audit(entry: AuditEntry): Promise<void> {
    return this.change(async () => [undefined, entry], { frees: true })
  }

  /** Throws when the file cannot be read or was replaced since it was opened. */
  async check(): Promise<void> {
    const here = existsSync(this.#path) ? statSync(this.#path).ino : undefined
    if (here !== this.#inode) throw new AppError('store_damaged', 'The database file was moved or deleted')
    try {
      await sql`select max(revision) from tool_servers`.execute(this.db)
      if (performance.now() < this.#checkDue) return
      const [row] = this.#sqlite.prepare('PRAGMA quick_check(1)').all()
      if (row?.quick_check !== 'ok') throw new AppError('store_damaged', 'The database file is damaged')
      this.#checkDue = performance.now() + CHECK_EVERY_MS
    } catch (error) {
      throw appErrorOf(error)
    }
  }

  /** Checkpoints the write-ahead log, so that one file remains. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#ready) await this.#backUpIfPossible()
    await this.db.destroy()
  }

  /** Takes a backup if anything changed since the last one. */
  async backUp(): Promise<void> {
    this.#backups.take(this.#sqlite, await this.#lastAuditId())
  }

  /** A failed backup is reported but does not fail the change, which is already committed. */
  async #backUpIfPossible(isNeeded = () => true): Promise<void> {
    try {
      if (isNeeded()) await this.backUp()
    } catch (error) {
      this.#onTrouble('a backup of the database could not be taken', error)
    }
  }

  async #transact<T>(work: Work<T>, { committed: onCommit }: ChangeOptions<T>): Promise<T> {
    const committed = await this.db.connection().execute(async (connection) => {
      await this.#begin(connection)
      try {
        const [result, entries] = await work(connection)
        const audited: Facts['audited'][] = []
        for (const entry of [entries ?? []].flat()) {
          const ts = Date.now()
          audited.push({ ...entry, ts, audit_id: await insertAudit(connection, entry, ts) })
        }
        await sql`commit`.execute(connection)
        onCommit?.(result)
        return { result, audited }
      } catch (error) {
        await sql`rollback`.execute(connection).catch(() => {}) // SQLite may have rolled back already
        throw error
      }
    })
    for (const row of committed.audited) this.#facts.publish('audited', row)
    // After the first backup with a change, a missing database is detected as a loss.
    if (committed.audited.length > 0) await this.#backUpIfPossible(() => !this.#backups.holdChanges())
    return committed.result
  }

  /** Retries with a timer: SQLite's own busy timeout would block the event loop. */
  async #begin(connection: Db): Promise<void> {
    const deadline = performance.now() + this.#busyMs
    for (;;) {
      try {
        await sql`begin immediate`.execute(connection)
        return
      } catch (error) {
        if (sqliteErrorKind(error) !== 'busy' || performance.now() > deadline) throw error
        await sleep(25)
      }
    }
  }

  async #migrate(): Promise<void> {
    // A query of `db`, because only a database that was used through it is closed with it.
    const { rows } = await sql<{ user_version: number }>`pragma user_version`.execute(this.db)
    const from = Number(rows[0]?.user_version ?? 0)
    if (from > MIGRATIONS.length) {
      throw new StartError(
        'configuration',
        'The data folder was written by a newer Toolroom; install that version again',
      )
    }
    if (from === MIGRATIONS.length) return
    if (from > 0) await this.backUp()
    await this.db.connection().execute(async (connection) => {
      await sql`begin immediate`.execute(connection)
      for (const step of MIGRATIONS.slice(from)) await step(connection as unknown as Kysely<never>)
      await sql.raw(`pragma user_version = ${MIGRATIONS.length}`).execute(connection)
      await sql`commit`.execute(connection)
    })
  }

  async #lastAuditId(): Promise<number> {
    const row = await this.db
      .selectFrom('audit')
      .select((table) => table.fn.max('id').as('id'))
      .executeTakeFirst()
    return row?.id ?? 0
  }
}

async function insertAudit(trx: Trx, entry: AuditEntry, ts: number): Promise<number> {
  const { action, subject, request_id, detail } = entry
  const row = { ts, action, subject, request_id, detail: JSON.stringify(detail) }
  const { id } = await trx.insertInto('audit').values(row).returning('id').executeTakeFirstOrThrow()
  if (id % TRIM_EVERY === 0)
    await trx
      .deleteFrom('audit')
      .where('id', '<=', id - MAX_AUDIT_ROWS)
      .execute()
  return id
}

const FULL = 'The disk that holds the data folder is full'

/** Maps SQLite errors to error codes; returns other errors unchanged. */
function appErrorOf(error: unknown): unknown {
  switch (sqliteErrorKind(error)) {
    case 'busy':
      return new AppError('store_busy', 'Another program has locked the database', {
        retryAfterS: 2,
        cause: error,
      })
    case 'full':
      return diskFull(FULL, error)
    case 'damaged':
    case 'io':
    case 'read_only':
    case 'not_opened':
      return new AppError('store_damaged', 'The database cannot be read or written', { cause: error })
    case undefined:
      return error
  }
}

/** Adapts our driver to the better-sqlite3 API that Kysely uses: parameters in an array, and `reader` for queries. */
export function kyselyDialect(database: Sqlite): SqliteDialect {
  return new SqliteDialect({
    database: {
      close: () => closeSqlite(database),
      prepare(sql) {
        const statement = database.prepare(sql)
        const values = (parameters: readonly unknown[]) => parameters as Value[]
        return {
          reader: statement.columns ? statement.columns().length > 0 : RETURNS_ROWS.test(sql),
          all: (parameters) => statement.all(...values(parameters)),
          run: (parameters) => statement.run(...values(parameters)),
          iterate: (parameters) => statement.iterate(...values(parameters)),
        }
      },
    },
  })
}
/** For early Node 22 releases, whose statements have no `columns()`. */
const RETURNS_ROWS = /^\s*(?:select|with|pragma|explain|values)\b|\breturning\b/i
