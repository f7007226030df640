import type { Schema } from '../sqlite/data-file.ts'

/**
 * The tables of `calls.db`. The parts of a block (`block.ts`) are in several tables, because a filter needs only the first
 * ones. `parts` lists the rows of `details` that belong to a block, as JSON: `[[no, number of calls], …]`. `payloads` has
 * one row for each call whose arguments and result are kept on disk, encrypted.
 */
const MIGRATIONS = [
  `
  CREATE TABLE blocks (
    no INTEGER PRIMARY KEY,
    rows INTEGER NOT NULL,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    min_at INTEGER NOT NULL,
    max_at INTEGER NOT NULL,
    max_ms REAL NOT NULL,
    parts TEXT NOT NULL,
    names TEXT NOT NULL,
    filters BLOB NOT NULL,
    keys BLOB NOT NULL
  );
  CREATE TABLE messages (no INTEGER PRIMARY KEY, folded TEXT NOT NULL);
  CREATE TABLE details (no INTEGER PRIMARY KEY, bytes BLOB NOT NULL);
  CREATE TABLE payloads (call_id INTEGER PRIMARY KEY, at INTEGER NOT NULL, sealed TEXT NOT NULL);
  `,
]

export const CALL_SCHEMA: Schema = {
  pragmas: `
    PRAGMA page_size = 16384;
    PRAGMA busy_timeout = 2000;
    PRAGMA auto_vacuum = INCREMENTAL;
    PRAGMA journal_mode = WAL;
    PRAGMA synchronous = NORMAL;
    PRAGMA cache_size = -2000;
  `,
  migrations: MIGRATIONS,
  probes: [
    'SELECT no, rows, parts FROM blocks',
    'SELECT * FROM blocks ORDER BY no DESC LIMIT 1',
    'SELECT * FROM details ORDER BY no DESC LIMIT 1',
    'SELECT * FROM messages ORDER BY no DESC LIMIT 1',
    'SELECT call_id FROM payloads LIMIT 10',
  ],
}
