import { Connection } from '../sqlite/connection.ts'
import { isUnusable, migrate, openDataFile, type Schema, setAside } from '../sqlite/database-file.ts'
import { WAL_PRAGMAS } from '../sqlite/sqlite.ts'

type Report = (message: string) => void

/**
 * Opens `calls.db`, or creates it. An unusable file is renamed and reported, and the history continues in an empty file.
 * When no file can be opened it is kept in memory: the history never prevents the service from starting.
 */
export function openCallFile(path: string, onTrouble: Report): Connection {
  try {
    return openDataFile(path, CALL_SCHEMA)
  } catch (error) {
    return isUnusable(error) ? replaceCallFile(path, error, onTrouble) : openInMemory(error, onTrouble)
  }
}

/** The caller has closed every connection to the file. */
export function replaceCallFile(path: string, reason: unknown, onTrouble: Report): Connection {
  try {
    const aside = setAside(path)
    onTrouble(
      `The call history could not be read (${whyOf(reason)}) and was replaced by an empty one; the old file is now ${aside}`,
    )
    return openDataFile(path, CALL_SCHEMA)
  } catch (error) {
    return openInMemory(error, onTrouble)
  }
}

function openInMemory(reason: unknown, onTrouble: Report): Connection {
  onTrouble(`The call history cannot be stored (${whyOf(reason)}) and is kept in memory until the next start`)
  const connection = new Connection(':memory:')
  migrate(connection, CALL_SCHEMA.migrations)
  return connection
}

const whyOf = (reason: unknown): string => (reason instanceof Error ? reason.message : String(reason))

/**
 * The tables of `calls.db`. The parts of a block (`call-block.ts`) are in several tables, because a filter needs only the first
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

const CALL_SCHEMA: Schema = {
  pragmas: `
    PRAGMA page_size = 16384;
    PRAGMA busy_timeout = 2000;
    PRAGMA auto_vacuum = INCREMENTAL;
    ${WAL_PRAGMAS}
    PRAGMA wal_autocheckpoint = 64;
    PRAGMA journal_size_limit = 1048576;
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
