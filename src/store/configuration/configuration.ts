import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Kysely, sql, type Transaction } from 'kysely'
import { AppError } from '../../kernel/errors.ts'
import { StartError } from '../../kernel/exit.ts'
import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import { setAside } from '../sqlite/data-file.ts'
import { kyselyDialect } from '../sqlite/kysely.ts'
import { type Sqlite, sqliteTrouble } from '../sqlite/sqlite.ts'
import { Backups } from './backups.ts'
import { refuseDamaged } from './damage.ts'
import { DiskReserve } from './disk-reserve.ts'
import { MIGRATIONS } from './migrations.ts'
import { type AfterDamage, openSound } from './open-file.ts'
import type { Tables } from './tables.ts'

const CHECK_EVERY_MS = 60_000

type Db = Kysely<Tables>
export type Trx = Transaction<Tables> | Db

interface Options {
  readonly folder: string
  readonly facts: FactBus
  readonly afterDamage?: AfterDamage | undefined
  /** How long a change waits for a lock that another program holds. */
  readonly busyMs?: number
  /** For what goes wrong beside a change. */
  readonly onTrouble?: (message: string, error: unknown) => void
}

type Work<T> = (trx: Trx) => Promise<[result: T, audit: AuditEntry | null]>

interface ChangeOptions<T> {
  /** Deletes: let through on a full disk, where everything else is refused. */
  readonly frees?: boolean
  /** Called after the commit and before the next change may begin. */
  readonly committed?: (result: T) => unknown
}

/**
 * The configuration database: WAL with `synchronous=FULL`, so what was acknowledged survives a power cut. Every change
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
  /** A whole look takes milliseconds, and anybody may ask. */
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
    const sqlite = openSound(path, backups, options.afterDamage)
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

  /** For whoever finds, while reading, that a row cannot be what was written. */
  async refuse(why: string): Promise<StartError> {
    await this.close()
    return refuseDamaged(setAside(this.#path), this.#backups.newest(), why)
  }

  /** Runs a change and writes its audit row in the same transaction. */
  async change<T>(work: Work<T>, options: ChangeOptions<T> = {}): Promise<T> {
    if (!options.frees && !this.reserve.ensure()) throw diskFull()
    try {
      return await this.#transact(work, options)
    } catch (error) {
      if (sqliteTrouble(error) !== 'full') throw readable(error)
      this.reserve.release()
      if (!options.frees) throw diskFull(error)
      return await this.#transact(work, options).catch((again: unknown) => Promise.reject(readable(again)))
    }
  }

  /** For what changes something outside of this database. */
  audit(entry: AuditEntry): Promise<void> {
    return this.change(async () => [undefined, entry], { frees: true })
  }

  /** Throws when the file cannot be read any more, or is no longer the one that was opened. */
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
      throw readable(error)
    }
  }

  /** Leaves everything in the one file. */
  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    if (this.#ready) await this.#backUpIfPossible()
    await this.db.destroy()
  }

  /** Takes a copy when anything changed since the last one. */
  async backUp(): Promise<void> {
    this.#backups.take(this.#sqlite, await this.#lastAuditId())
  }

  /** The change is committed: that it could not be copied is no reason to answer that it failed. */
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
        const [result, entry] = await work(connection)
        const audited = entry && { ...entry, ts: Date.now(), audit_id: 0 }
        if (audited) audited.audit_id = await insertAudit(connection, entry, audited.ts)
        await sql`commit`.execute(connection)
        onCommit?.(result)
        return { result, audited }
      } catch (error) {
        await sql`rollback`.execute(connection).catch(() => {}) // SQLite may have rolled back by itself
        throw error
      }
    })
    if (committed.audited) this.#facts.publish('audited', committed.audited)
    // From the first change on there is something to lose, so from then on a loss must be noticed.
    if (committed.audited) await this.#backUpIfPossible(() => !this.#backups.holdSomething())
    return committed.result
  }

  /** Waits without holding up the event loop, as SQLite's own busy timeout would. */
  async #begin(connection: Db): Promise<void> {
    const deadline = performance.now() + this.#busyMs
    for (;;) {
      try {
        await sql`begin immediate`.execute(connection)
        return
      } catch (error) {
        if (sqliteTrouble(error) !== 'busy' || performance.now() > deadline) throw error
        await sleep(25)
      }
    }
  }

  async #migrate(): Promise<void> {
    const from = Number(this.#sqlite.prepare('PRAGMA user_version').get()?.user_version ?? 0)
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
  const inserted = await trx.insertInto('audit').values(row).returning('id').executeTakeFirstOrThrow()
  return inserted.id
}

function diskFull(cause?: unknown): AppError {
  const hint = 'Free some space; deleting servers and clearing logs still works'
  return new AppError('disk_full', 'The disk that holds the data folder is full', { hint, cause })
}

/** SQLite's troubles in the words of the catalogue; everything else stays what it is. */
function readable(error: unknown): unknown {
  switch (sqliteTrouble(error)) {
    case 'busy':
      return new AppError('store_busy', 'Another program has locked the database', {
        retryAfterS: 2,
        cause: error,
      })
    case 'full':
      return diskFull(error)
    case 'damaged':
    case 'io':
    case 'read_only':
      return new AppError('store_damaged', 'The database cannot be read or written', { cause: error })
    case undefined:
      return error
  }
}
