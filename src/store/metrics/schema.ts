import type { Sqlite } from '../sqlite/sqlite.ts'

/**
 * The tables of `metrics.db`. A block holds the figures of 64 series during one second, minute or hour
 * (`metrics/tally.ts`), so that a day is read in hundreds of rows and not in hundred thousands.
 */
const MIGRATIONS = [
  `
  CREATE TABLE series (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    server_id TEXT,
    tool TEXT,
    agent_type TEXT,
    name TEXT,
    labels TEXT,
    last_at INTEGER NOT NULL
  );
  CREATE TABLE seconds (start INTEGER, chunk INTEGER, block BLOB NOT NULL, PRIMARY KEY (start, chunk)) WITHOUT ROWID;
  CREATE TABLE minutes (start INTEGER, chunk INTEGER, block BLOB NOT NULL, PRIMARY KEY (start, chunk)) WITHOUT ROWID;
  CREATE TABLE hours (start INTEGER, chunk INTEGER, block BLOB NOT NULL, PRIMARY KEY (start, chunk)) WITHOUT ROWID;
  CREATE TABLE checks (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    server_id TEXT NOT NULL,
    ts INTEGER NOT NULL,
    ok INTEGER NOT NULL,
    duration_ms REAL NOT NULL,
    error_code TEXT
  );
  CREATE INDEX checks_server ON checks (server_id, id);
  `,
]

/** Waiting is short, because it blocks everybody. */
export function configure(database: Sqlite): void {
  database.exec(`
    PRAGMA busy_timeout = 100;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA cache_size = -4000;
  `)
}

export class NewerSchema extends Error {}

export function migrate(database: Sqlite): void {
  const version = Number(database.prepare('PRAGMA user_version').get()?.user_version)
  if (version > MIGRATIONS.length) throw new NewerSchema(`it has version ${version} of the tables`)
  MIGRATIONS.slice(version).forEach((sql, index) => {
    database.exec(`BEGIN IMMEDIATE; ${sql}; PRAGMA user_version = ${version + index + 1}; COMMIT`)
  })
}

/** Reads both ends of every table: where a file that was overwritten shows it, in a millisecond. */
export function quickLook(database: Sqlite): void {
  for (const table of ['seconds', 'minutes', 'hours']) {
    for (const order of ['ASC', 'DESC'])
      database.prepare(`SELECT * FROM ${table} ORDER BY start ${order} LIMIT 2`).all()
  }
  for (const table of ['series', 'checks', 'sqlite_sequence'])
    database.prepare(`SELECT * FROM ${table} LIMIT 10`).all()
}
