import { chmodSync, closeSync, existsSync, mkdirSync, openSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { Connection } from '../sqlite/connection.ts'
import { sqliteTrouble } from '../sqlite/sqlite.ts'
import { configure, migrate, NewerSchema, quickLook } from './schema.ts'

/**
 * Opens `logs.db`, or makes it. Lines are no configuration: when the file cannot be used the log starts anew,
 * but the old file stays beside it and `onDamaged` is told.
 */
export function openLogFile(path: string, onDamaged: (message: string) => void): Connection {
  try {
    return openOnce(path)
  } catch (error) {
    if (sqliteTrouble(error) !== 'damaged' && !(error instanceof NewerSchema)) throw error
    setAside(path, error, onDamaged)
    return openOnce(path)
  }
}

/** The caller has closed every connection to the file. */
export function setAside(path: string, reason: unknown, onDamaged: (message: string) => void): void {
  const aside = `${path}.damaged-${new Date().toISOString().replaceAll(':', '-')}`
  for (const end of ['', '-wal', '-shm']) {
    if (existsSync(path + end)) renameSync(path + end, aside + end)
  }
  const why = reason instanceof Error ? reason.message : String(reason)
  onDamaged(`The log could not be read (${why}) and starts anew; the old file is now ${aside}`)
}

function openOnce(path: string): Connection {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  // Lines may quote what only their owner should read. SQLite gives -wal and -shm the mode of this file.
  closeSync(openSync(path, 'a', 0o600))
  chmodSync(path, 0o600)
  const connection = new Connection(path)
  try {
    configure(connection)
    migrate(connection)
    quickLook(connection)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}
