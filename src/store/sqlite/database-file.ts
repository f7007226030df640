import { chmodSync, closeSync, existsSync, mkdirSync, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { renameOver, syncFolder } from '../../kernel/files/durable-file.ts'
import { isoTime } from '../../kernel/time.ts'
import { Connection } from './connection.ts'
import { sqliteErrorKind } from './sqlite-errors.ts'

/** How `logs.db` or `metrics.db` is set up. */
export interface Schema {
  readonly pragmas: string
  /** One entry per schema version, oldest first. A released entry is never edited. */
  readonly migrations: readonly string[]
  /** Reads the small tables and both ends of the large ones. Detects an overwritten file within a millisecond. */
  readonly probes: readonly string[]
}

/** Opens the file, or creates it. */
export function openDataFile(path: string, { pragmas, migrations, probes }: Schema): Connection {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  closeSync(openSync(path, 'a', 0o600)) // SQLite gives -wal and -shm the mode of this file
  chmodSync(path, 0o600)
  const connection = new Connection(path)
  try {
    connection.exec(pragmas)
    migrate(connection, migrations)
    for (const sql of probes) connection.rows(sql)
    return connection
  } catch (error) {
    connection.close()
    throw error
  }
}

export function migrate(connection: Connection, migrations: readonly string[]): void {
  const version = connection.pragma('user_version')
  if (version > migrations.length) throw new NewerSchema(`schema version ${version} is not supported`)
  migrations.slice(version).forEach((sql, index) => {
    connection.transaction(() => connection.exec(`${sql}; PRAGMA user_version = ${version + index + 1}`))
  })
}

class NewerSchema extends Error {}

/** The file is damaged or belongs to a newer Toolroom: only a new file can be used. */
export const isUnusable = (error: unknown): boolean =>
  sqliteErrorKind(error) === 'damaged' || error instanceof NewerSchema

/** Renames a database and its journal, so that they can be inspected, and returns the new path. Every connection must be closed. */
export function setAside(path: string): string {
  const aside = `${path}.damaged-${isoTime(Date.now()).replaceAll(':', '.')}`
  for (const ending of ['', '-wal', '-shm']) {
    if (existsSync(path + ending)) renameOver(path + ending, aside + ending)
  }
  syncFolder(dirname(path))
  return aside
}
