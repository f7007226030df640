import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { StartError } from '../../kernel/exit.ts'
import { setAside } from '../sqlite/data-file.ts'
import { closeSqlite, openSqlite, type Sqlite, sqliteTrouble } from '../sqlite/sqlite.ts'
import type { Backups } from './backups.ts'
import { lastSetAside, refuseDamaged, refuseLost, restore } from './damage.ts'

/** What the user chose to do about a damaged or lost database. */
export type AfterDamage = 'restore' | 'start_empty' | undefined

/** Opens the file, or what the user chose to take in its place. */
export function openSound(path: string, backups: Backups, afterDamage: AfterDamage): Sqlite {
  settleLoss(path, backups, afterDamage)
  const opened = openInspected(path, afterDamage === 'start_empty' || !backups.holdSomething())
  if (typeof opened !== 'string') return opened
  const aside = setAside(path)
  if (afterDamage === undefined) throw refuseDamaged(aside, backups.newest(), opened)
  settleLoss(path, backups, afterDamage)
  const again = openInspected(path, true)
  if (typeof again === 'string') throw refuseDamaged(setAside(path), backups.newest(), again)
  return again
}

/** A database that was there and is gone must not start anew in silence, whoever took it away. */
function settleLoss(path: string, backups: Backups, choice: AfterDamage): void {
  const backup = backups.newest()
  const aside = lastSetAside(path)
  const lost = aside !== undefined || (isEmpty(path) && backups.holdSomething())
  if (!lost || choice === 'start_empty') return
  if (choice !== 'restore' || !backup) throw refuseLost(path, aside, backup)
  setAside(path) // what is left of it: an empty file, a journal that belongs to nothing
  restore(backup, path)
}

const isEmpty = (path: string): boolean => !existsSync(path) || statSync(path).size === 0

/** The database, or what is wrong with it. */
function openInspected(path: string, mayBeEmpty: boolean): Sqlite | string {
  closeSync(openSync(path, 'a', 0o600)) // SQLite gives its journals the mode of the database
  const sqlite = openSqlite(path)
  const finding = inspect(sqlite, mayBeEmpty)
  if (finding === undefined) return sqlite
  closeSqlite(sqlite)
  if (finding instanceof Error) throw finding
  return finding
}

/** What is wrong with the file, in words; undefined when all is well. */
function inspect(sqlite: Sqlite, mayBeEmpty: boolean): string | Error | undefined {
  try {
    sqlite.exec('PRAGMA busy_timeout = 250; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
    const [row] = sqlite.prepare('PRAGMA integrity_check(1)').all()
    if (row?.integrity_check !== 'ok') return String(row?.integrity_check)
    const tables = Number(sqlite.prepare('select count(*) as n from sqlite_master').get()?.n)
    const version = Number(sqlite.prepare('PRAGMA user_version').get()?.user_version)
    if ((version === 0) !== (tables === 0)) return 'its tables are not ours'
    if (tables === 0 && !mayBeEmpty) return 'its tables are gone'
    sqlite.exec('PRAGMA busy_timeout = 0')
    return undefined
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    const busy = sqliteTrouble(error) === 'busy'
    return busy ? new StartError('folder_in_use', 'Another program has locked the database', error) : why
  }
}
