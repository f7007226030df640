import { existsSync } from 'node:fs'
import { createRequire, isBuiltin } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

export type Value = null | number | bigint | string | Uint8Array

/** The part of `node:sqlite` that we use; `@photostructure/sqlite` has the same API on Node 20. */
export interface SqliteStatement {
  run(...values: Value[]): { changes: number | bigint; lastInsertRowid: number | bigint }
  get(...values: Value[]): Record<string, Value> | undefined
  all(...values: Value[]): Record<string, Value>[]
  iterate(...values: Value[]): IterableIterator<Record<string, Value>>
  columns?(): unknown[]
}

export interface Sqlite {
  exec(sql: string): void
  prepare(sql: string): SqliteStatement
  close(): void
}

interface SqliteModule {
  readonly DatabaseSync: new (path: string) => Sqlite
}

let loaded: SqliteModule | undefined

/** Opens a database file, or creates it. */
export function openSqlite(path: string): Sqlite {
  loaded ??= loadDriver()
  const database = new loaded.DatabaseSync(path)
  database.exec('PRAGMA fullfsync = 1') // macOS: a plain fsync leaves the data in the cache of the drive
  return database
}

function loadDriver(): SqliteModule {
  const load = createRequire(import.meta.url)
  if (!isBuiltin('node:sqlite'))
    return addonInUsualPlace() ?? (load('@photostructure/sqlite') as SqliteModule) // on Node 20
  const { emitWarning } = process
  // Node 22 warns that its SQLite is experimental; users cannot act on that.
  process.emitWarning = () => {}
  try {
    return load('node:sqlite') as SqliteModule
  } finally {
    process.emitWarning = emitWarning
  }
}

/**
 * The native part of `@photostructure/sqlite`, where npm installs it. The package itself takes 9 ms to find it, which is a
 * twentieth of the time until the first call of an agent. Undefined on a system whose addon has another name.
 */
function addonInUsualPlace(): SqliteModule | undefined {
  const platform = `${process.platform}-${process.arch}`
  const addon = `node_modules/@photostructure/sqlite/prebuilds/${platform}/@photostructure+sqlite.glibc.node`
  let folder = fileURLToPath(import.meta.url)
  let file: string
  do {
    if (dirname(folder) === folder) return undefined
    folder = dirname(folder)
    file = join(folder, addon)
  } while (!existsSync(file))
  const module = { exports: {} }
  try {
    process.dlopen(module, file)
  } catch {
    return undefined
  }
  return module.exports as SqliteModule
}

/** Each start switches to the write-ahead log, as closing switches back. A file with pages needs no sync for that. */
export const WAL_PRAGMAS = 'PRAGMA synchronous = OFF; PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;'

/**
 * Removes the write-ahead log, then closes. `@photostructure/sqlite` cannot finalize statements, so SQLite keeps the
 * connection open until they are garbage-collected. Only then would it delete the log, whose name may belong to a new
 * file at that time.
 */
export function closeSqlite(database: Sqlite): void {
  try {
    database.exec('PRAGMA journal_mode = DELETE')
  } catch {
    // damaged, or in use by another program: the log stays, and the next open applies it
  }
  database.close()
}
