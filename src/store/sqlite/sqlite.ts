import { createRequire } from 'node:module'

export type Value = null | number | bigint | string | Uint8Array

/** The part of `node:sqlite` that we use. `@photostructure/sqlite` gives Node 20 the same. */
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
  return new loaded.DatabaseSync(path)
}

function loadDriver(): SqliteModule {
  const load = createRequire(import.meta.url)
  const { emitWarning } = process
  // Node 22 announces its own SQLite as experimental; that line is not for the people who run Toolroom.
  process.emitWarning = () => {}
  try {
    return load('node:sqlite') as SqliteModule
  } catch {
    return load('@photostructure/sqlite') as SqliteModule // Node 20 has no SQLite of its own
  } finally {
    process.emitWarning = emitWarning
  }
}

type SqliteTrouble = 'busy' | 'read_only' | 'io' | 'damaged' | 'full'

/** What SQLite complains about, in the words that matter to us; undefined for everything else. */
export function sqliteTrouble(error: unknown): SqliteTrouble | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return BY_CODE.get(error.errcode & 0xff)
  return BY_MESSAGE.get(error.message)
}

const BY_CODE = new Map<number, SqliteTrouble>([
  [5, 'busy'],
  [6, 'busy'],
  [8, 'read_only'],
  [10, 'io'],
  [11, 'damaged'],
  [13, 'full'],
  [26, 'damaged'],
])

/** `all` and `iterate` of `@photostructure/sqlite` say only in words what its other calls say with a code, too. */
const BY_MESSAGE = new Map<string, SqliteTrouble>([
  ['database is locked', 'busy'],
  ['database table is locked', 'busy'],
  ['attempt to write a readonly database', 'read_only'],
  ['disk I/O error', 'io'],
  ['database disk image is malformed', 'damaged'],
  ['database or disk is full', 'full'],
  ['file is not a database', 'damaged'],
])

/**
 * Leaves the write-ahead log for good, then closes. `@photostructure/sqlite` cannot end statements: SQLite keeps the
 * connection behind the scenes until they are collected, and only then deletes the log, by a name that may belong to
 * a new file by then.
 */
export function closeSqlite(database: Sqlite): void {
  try {
    database.exec('PRAGMA journal_mode = DELETE')
  } catch {
    // damaged, or read by another program: then the log stays, and whoever opens the file next goes on with it
  }
  database.close()
}
