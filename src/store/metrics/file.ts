import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { setAside } from '../configuration/damage.ts'
import { closeSqlite, openSqlite, type Sqlite, sqliteTrouble } from '../sqlite/sqlite.ts'
import { configure, migrate, NewerSchema, quickLook } from './schema.ts'

/**
 * Opens `metrics.db`, or makes it. Figures are no configuration: when the file cannot be used they start anew, but the
 * old file stays beside it and `onTrouble` is told. Nothing that is wrong with them keeps the service from starting.
 */
export function openMetricsFile(path: string, onTrouble: (message: string) => void): Sqlite {
  try {
    return openOnce(path)
  } catch (error) {
    if (sqliteTrouble(error) === 'damaged' || error instanceof NewerSchema)
      return beginAnew(path, error, onTrouble)
    return openInMemory(error, onTrouble)
  }
}

/** The caller has closed every connection to the file. */
export function beginAnew(path: string, reason: unknown, onTrouble: (message: string) => void): Sqlite {
  try {
    const aside = setAside(path)
    onTrouble(`The metrics could not be read (${whyOf(reason)}) and start anew; the old file is now ${aside}`)
    return openOnce(path)
  } catch (error) {
    return openInMemory(error, onTrouble)
  }
}

function openInMemory(reason: unknown, onTrouble: (message: string) => void): Sqlite {
  onTrouble(`The metrics cannot be stored (${whyOf(reason)}) and are kept in memory until the next start`)
  const database = openSqlite(':memory:')
  migrate(database)
  return database
}

const whyOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason))

function openOnce(path: string): Sqlite {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600)) // SQLite gives -wal and -shm the mode of this file
  chmodSync(path, 0o600)
  const database = openSqlite(path)
  try {
    configure(database)
    migrate(database)
    quickLook(database)
    return database
  } catch (error) {
    closeSqlite(database)
    throw error
  }
}
