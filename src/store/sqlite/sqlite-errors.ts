type SqliteErrorKind = 'busy' | 'read_only' | 'io' | 'damaged' | 'full' | 'not_opened'

/** The kind of SQLite error; undefined for every other error. */
export function sqliteErrorKind(error: unknown): SqliteErrorKind | undefined {
  if (!(error instanceof Error)) return undefined
  if ('errcode' in error && typeof error.errcode === 'number') return BY_CODE.get(error.errcode & 0xff)
  return BY_MESSAGE.get(error.message)
}

const BY_CODE = new Map<number, SqliteErrorKind>([
  [5, 'busy'],
  [6, 'busy'],
  [8, 'read_only'],
  [10, 'io'],
  [11, 'damaged'],
  [13, 'full'],
  [14, 'not_opened'],
  [26, 'damaged'],
])

/** Errors of `all` and `iterate` in `@photostructure/sqlite` have a message but no code. */
const BY_MESSAGE = new Map<string, SqliteErrorKind>([
  ['database is locked', 'busy'],
  ['database table is locked', 'busy'],
  ['attempt to write a readonly database', 'read_only'],
  ['disk I/O error', 'io'],
  ['database disk image is malformed', 'damaged'],
  ['database or disk is full', 'full'],
  ['unable to open database file', 'not_opened'],
  ['file is not a database', 'damaged'],
])
