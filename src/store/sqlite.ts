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
  readonly DatabaseSync: new (path: string, options?: { readOnly?: boolean }) => Sqlite
}

let loaded: SqliteModule | undefined

/** Opens a database file; creates it unless `readOnly`. */
export function openSqlite(path: string, options: { readonly readOnly?: boolean } = {}): Sqlite {
  loaded ??= loadDriver()
  return new loaded.DatabaseSync(path, options)
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

const PRIMARY = {
  5: 'busy',
  6: 'busy',
  8: 'read_only',
  10: 'io',
  11: 'damaged',
  13: 'full',
  26: 'damaged',
} as const
export type SqliteTrouble = (typeof PRIMARY)[keyof typeof PRIMARY]

/** What SQLite complains about, in the words that matter to us; undefined for everything else. */
export function sqliteTrouble(error: unknown): SqliteTrouble | undefined {
  if (!(error instanceof Error) || !('errcode' in error) || typeof error.errcode !== 'number')
    return undefined
  return PRIMARY[(error.errcode & 0xff) as keyof typeof PRIMARY]
}
