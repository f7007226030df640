import { closeSync, existsSync, openSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { StartError } from '../../kernel/exit-codes.ts'
import { writeDurably } from '../../kernel/files/durable-file.ts'
import { setAside } from '../sqlite/database-file.ts'
import { closeSqlite, openSqlite, type Sqlite, WAL_PRAGMAS } from '../sqlite/sqlite.ts'
import { sqliteErrorKind } from '../sqlite/sqlite-errors.ts'
import type { Backups } from './backups.ts'

/** The user's choice for a damaged or missing database. */
export type AfterDamage = 'restore' | 'start_empty' | undefined

/** Opens an intact database, or its replacement that the user chose. */
export function openIntact(path: string, backups: Backups, afterDamage: AfterDamage): Sqlite {
  handleLoss(path, backups, afterDamage)
  const opened = openInspected(path, afterDamage === 'start_empty' || !backups.holdChanges())
  if (typeof opened !== 'string') return opened
  const aside = setAside(path)
  if (afterDamage === undefined) throw refuseDamaged(aside, backups.newest(), opened)
  handleLoss(path, backups, afterDamage)
  const again = openInspected(path, true)
  if (typeof again === 'string') throw refuseDamaged(setAside(path), backups.newest(), again)
  return again
}

/** A missing database is never replaced by an empty one without the user's consent. */
function handleLoss(path: string, backups: Backups, choice: AfterDamage): void {
  const backup = backups.newest()
  const aside = lastSetAside(path)
  const lost = aside !== undefined || (isEmpty(path) && backups.holdChanges())
  if (!lost || choice === 'start_empty') return
  if (choice !== 'restore' || !backup) throw refuseLost(path, aside, backup)
  setAside(path) // an empty file or a journal without its database may be left
  writeDurably(path, readFileSync(backup), 0o600)
}

const isEmpty = (path: string): boolean => !existsSync(path) || statSync(path).size === 0

/** The database, or the reason why it cannot be used. */
function openInspected(path: string, mayBeEmpty: boolean): Sqlite | string {
  closeSync(openSync(path, 'a', 0o600)) // SQLite gives its journals the mode of the database
  const sqlite = openSqlite(path)
  const finding = inspect(sqlite, mayBeEmpty)
  if (finding === undefined) return sqlite
  closeSqlite(sqlite)
  if (finding instanceof Error) throw finding
  return finding
}

/** The reason why the file cannot be used; undefined when it is intact. */
function inspect(sqlite: Sqlite, mayBeEmpty: boolean): string | Error | undefined {
  try {
    sqlite.exec('PRAGMA busy_timeout = 250')
    // After a power cut SQLite deletes the log of a file that it finds empty. So a new file gets its first page at once.
    const isNew = sqlite.prepare('PRAGMA page_count').get()?.page_count === 0
    sqlite.exec(`${isNew ? 'PRAGMA journal_mode = WAL;' : WAL_PRAGMAS} PRAGMA synchronous = FULL`)
    const [row] = sqlite.prepare('PRAGMA integrity_check(1)').all()
    if (row?.integrity_check !== 'ok') return String(row?.integrity_check)
    const tables = Number(sqlite.prepare('select count(*) as n from sqlite_master').get()?.n)
    const version = Number(sqlite.prepare('PRAGMA user_version').get()?.user_version)
    if ((version === 0) !== (tables === 0)) return 'it was not created by Toolroom'
    if (tables === 0 && !mayBeEmpty) return 'its tables are missing'
    sqlite.exec('PRAGMA busy_timeout = 0')
    return undefined
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    switch (sqliteErrorKind(error)) {
      case 'busy':
        return new StartError('folder_in_use', 'Another program has locked the database', error)
      case 'read_only':
      case 'not_opened':
      case 'full': // the file is as it was: there is nothing to set aside
        return error instanceof Error ? error : new Error(why)
      default:
        return why
    }
  }
}

/** The newest file that was set aside, unless a new database has replaced it. */
function lastSetAside(path: string): string | undefined {
  if (existsSync(path)) return undefined
  const prefix = `${basename(path)}.damaged-`
  const names = readdirSync(dirname(path)).filter(
    (name) => name.startsWith(prefix) && !/-(?:wal|shm)$/.test(name),
  )
  const newest = names.sort().at(-1)
  return newest === undefined ? undefined : join(dirname(path), newest)
}

/** The service does not start with an empty database instead: an empty list of servers would hide the loss. */
export function refuseDamaged(aside: string, backup: string | undefined, why: string): StartError {
  const happened = `The database is damaged (${why}) and was set aside as ${aside}`
  return new StartError('store_damaged', `${happened}; ${nextStep(backup)}`)
}

function refuseLost(path: string, aside: string | undefined, backup: string | undefined): StartError {
  const happened = aside
    ? `The damaged database was set aside as ${aside}`
    : `The database ${path} is missing`
  return new StartError('store_damaged', `${happened}; ${nextStep(backup)}`)
}

function nextStep(backup: string | undefined): string {
  return backup
    ? `start with --restore to continue from the backup ${backup}, or with --start-empty to start without data`
    : 'there is no backup; start with --start-empty to start without data'
}
