import type { Schema } from '../sqlite/database-file.ts'
import { WAL_PRAGMAS } from '../sqlite/sqlite.ts'

/**
 * The tables of `metrics.db`. A block contains the cells of 64 series in one second, minute or hour
 * (`observe/metrics/sketch/metric-cells.ts`), so that a day takes hundreds of rows instead of hundreds of thousands.
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
  ['minutes', 'quarters', 'hours'].map(createServerTable).join(''),
]

/** How long servers were available, and what they used. `cpu` and `rss` are sums of values × milliseconds. */
function createServerTable(level: string): string {
  return `
  CREATE TABLE server_${level} (
    start INTEGER,
    server_id TEXT,
    expected_ms REAL NOT NULL,
    down_ms REAL NOT NULL,
    sampled_ms REAL NOT NULL,
    cpu REAL NOT NULL,
    cpu_max REAL NOT NULL,
    rss REAL NOT NULL,
    rss_max REAL NOT NULL,
    PRIMARY KEY (start, server_id)
  ) WITHOUT ROWID;
  `
}

export const METRICS_SCHEMA: Schema = {
  // A short timeout: a wait for a lock blocks the main thread.
  pragmas: `
    PRAGMA busy_timeout = 100;
    ${WAL_PRAGMAS}
    PRAGMA cache_size = -4000;
  `,
  migrations: MIGRATIONS,
  probes: [
    ...['seconds', 'minutes', 'hours'].flatMap((table) =>
      ['ASC', 'DESC'].map((order) => `SELECT * FROM ${table} ORDER BY start ${order} LIMIT 2`),
    ),
    ...['series', 'checks', 'server_minutes', 'server_quarters', 'server_hours', 'sqlite_sequence'].map(
      (table) => `SELECT * FROM ${table} LIMIT 10`,
    ),
  ],
}
