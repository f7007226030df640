import type { LogLine } from '../../observe/logs/logs.schema.ts'
import type { Schema } from '../sqlite/database-file.ts'
import { WAL_PRAGMAS } from '../sqlite/sqlite.ts'
import { sharesOf } from './write/server-shares.ts'

/**
 * The tables of `logs.db`.
 *
 * Every index ends in the id, so it is an ordered list of ids. The most common lines (a server's `stderr` at level
 * info) have no index entry besides `logs_server`. `read/log-query.ts` names the index to use and repeats its WHERE
 * clause literally, because SQLite uses a partial index only then.
 *
 * `spans` maps time ranges to id ranges. It replaces an index on `ts` and stays correct when the clock jumps. `parts`
 * lists the parts of the text index (`index/text-index.ts`), `shares` the bytes of each server's lines
 * (`write/server-shares.ts`).
 */
const MIGRATIONS = [
  `
  CREATE TABLE logs (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ts INTEGER NOT NULL,
    level INTEGER NOT NULL,
    source TEXT NOT NULL,
    stream TEXT,
    server_id TEXT,
    agent_type TEXT,
    tool TEXT,
    request_id TEXT,
    message TEXT NOT NULL,
    data TEXT,
    repeat INTEGER NOT NULL,
    truncated INTEGER NOT NULL
  );
  CREATE INDEX logs_server ON logs (server_id, id) WHERE server_id IS NOT NULL;
  CREATE INDEX logs_warn ON logs (id) WHERE level >= 40;
  CREATE INDEX logs_error ON logs (id) WHERE level >= 50;
  CREATE INDEX logs_fatal ON logs (id) WHERE level >= 60;
  CREATE INDEX logs_server_warn ON logs (server_id, id) WHERE level >= 40;
  CREATE INDEX logs_source ON logs (source, id) WHERE source <> 'server';
  CREATE INDEX logs_stream ON logs (stream, id) WHERE stream IS NOT NULL AND stream <> 'stderr';
  CREATE INDEX logs_request ON logs (request_id, id) WHERE request_id IS NOT NULL;
  CREATE INDEX logs_agent ON logs (agent_type, id) WHERE agent_type IS NOT NULL;
  CREATE INDEX logs_tool ON logs (tool, id) WHERE tool IS NOT NULL;
  CREATE TABLE spans (
    first_id INTEGER PRIMARY KEY,
    last_id INTEGER NOT NULL,
    min_ts INTEGER NOT NULL,
    max_ts INTEGER NOT NULL
  );
  CREATE TABLE parts (
    no INTEGER PRIMARY KEY,
    first_id INTEGER NOT NULL,
    last_id INTEGER NOT NULL,
    rows INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    merged INTEGER NOT NULL
  );
  CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  `,
  `
  CREATE TABLE shares (server_id TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO shares (server_id, bytes) ${sharesOf('true')};
  ALTER TABLE parts ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
  `,
]

export const LINE_COLUMNS = [
  'id',
  'ts',
  'level',
  'source',
  'stream',
  'server_id',
  'agent_type',
  'tool',
  'request_id',
  'message',
  'data',
  'repeat',
  'truncated',
] as const satisfies readonly (keyof LogLine)[]

const SMALL_TABLES = ['meta', 'parts', 'shares', 'spans', 'sqlite_sequence']

export const LOG_SCHEMA: Schema = {
  pragmas: `
    PRAGMA busy_timeout = 2000;
    PRAGMA auto_vacuum = INCREMENTAL;
    ${WAL_PRAGMAS}
    PRAGMA cache_size = -8000;
    PRAGMA temp_store = MEMORY;
  `,
  migrations: MIGRATIONS,
  probes: [
    ...SMALL_TABLES.map((table) => `SELECT * FROM ${table} LIMIT 10`),
    ...['ASC', 'DESC'].map((order) => `SELECT * FROM logs ORDER BY id ${order} LIMIT 10`),
  ],
}
