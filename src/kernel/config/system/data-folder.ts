import { spawnSync } from 'node:child_process'
import { chmodSync, closeSync, readdirSync, readSync, statSync } from 'node:fs'
import { homedir } from 'node:os'
import { isAbsolute, join, relative } from 'node:path'
import { configError } from '../../exit-codes.ts'
import {
  isMarked,
  isTempOf,
  MARKER,
  makeFolder,
  markFolder,
  removeStaleTemps,
} from '../../files/durable-file.ts'
import { openForeign } from '../../files/foreign-file.ts'

/** Files that a user puts into a new data folder, and what a new file system contains. */
const NO_CONTENT = ['.env', 'config.json', 'lost+found']
/** Files of ours that are written to a temporary file first. */
const WRITTEN = [MARKER, 'token', 'child-mark', 'instance.json', 'reserve', 'toolroom.db']

/**
 * Creates the folder, or adopts it, with access for its owner only. A folder with content is adopted only if Toolroom
 * made it; otherwise nothing in it is touched, not even its mode. Returns a warning for each permission it had to correct.
 */
export function prepareDataFolder(path: string): string[] {
  try {
    makeFolder(path)
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw configError(`Cannot create the data folder ${path}: ${why}`, cause)
  }
  const { uid, mode } = statSync(path)
  if (process.getuid && uid !== process.getuid()) {
    throw configError(
      `The data folder ${path} belongs to another user; set TOOLROOM_HOME to a folder of your own`,
    )
  }
  const marked = isMarked(path)
  if (!marked && !isEmpty(path) && !isInstallation(path)) {
    throw configError(
      `The folder ${path} is not empty and was not made by Toolroom; nothing in it was changed. Set TOOLROOM_HOME to a new or empty folder`,
    )
  }
  const isOpen = process.platform !== 'win32' && (mode & 0o077) !== 0
  if (isOpen) chmodSync(path, 0o700)
  const warning = marked ? undefined : closeToOthers(path)
  if (!marked) mark(path)
  return isOpen
    ? [`The data folder ${path} was accessible to other users. Its permissions were corrected`]
    : warning === undefined
      ? []
      : [warning]
}

/** Removes temporary files that a crash has left. Only for the instance that holds the folder's lock. */
export function removeOwnTemps(path: string): void {
  removeStaleTemps(WRITTEN.map((name) => join(path, name)))
}

function isEmpty(path: string): boolean {
  return readdirSync(path).every((name) => NO_CONTENT.includes(name) || isTempOf(MARKER, name))
}

/** An installation that is older than the marker: its database, or a copy of it, has our tables. */
function isInstallation(path: string): boolean {
  const copies = backupsIn(path).filter((name) => /^toolroom-.+\.db$/.test(name))
  const databases = readdirSync(path).filter((name) => /^toolroom\.db(?:-wal|\.damaged-[^/]+)?$/.test(name))
  return [...databases, ...copies.map((name) => join('backups', name))].some((name) =>
    hasOurTables(join(path, name)),
  )
}

function backupsIn(path: string): string[] {
  try {
    return readdirSync(join(path, 'backups'))
  } catch {
    return [] // there is no such folder, or it belongs to another program
  }
}

/** Reads the bytes rather than opening the database: SQLite would write beside a file that is not ours. */
function hasOurTables(file: string): boolean {
  let handle: number
  try {
    handle = openForeign(file)
  } catch {
    return false // a folder, a link to nothing, or a file that this user may not read
  }
  try {
    const buffer = Buffer.alloc(CHUNK_BYTES + TABLE.length)
    for (let at = 0; at < MAX_BYTES; at += CHUNK_BYTES) {
      const read = readSync(handle, buffer, 0, buffer.length, at)
      if (buffer.subarray(0, read).includes(TABLE)) return true
      if (read < buffer.length) return false
    }
    return false
  } finally {
    closeSync(handle)
  }
}

/** How the table of servers begins in the schema that SQLite stores. It is part of the first migration. */
const TABLE = Buffer.from('CREATE TABLE "tool_servers" ("id" text primary key')
const CHUNK_BYTES = 1_048_576
const MAX_BYTES = 256 * CHUNK_BYTES

/** An installation on a full disk starts without the marker. The next start writes it. */
function mark(path: string): void {
  try {
    markFolder(path)
  } catch (cause) {
    const isFull = ['ENOSPC', 'EDQUOT'].includes((cause as NodeJS.ErrnoException).code ?? '')
    if (!isFull || isEmpty(path)) {
      const why = cause instanceof Error ? cause.message : String(cause)
      throw configError(`Cannot write to the data folder ${path}: ${why}`, cause)
    }
  }
}

const TIMEOUT_MS = 10_000
/** Windows itself, which backs up and scans files. The number is the same in every language. */
const SYSTEM = '*S-1-5-18'

/**
 * Windows has no file modes. The user's profile is closed to other users; a folder elsewhere gets an access list of its
 * own, which everything in it inherits. Returns a warning if that was not possible.
 */
export function closeToOthers(folder: string): string | undefined {
  if (process.platform !== 'win32' || isWithin(folder, homedir())) return undefined
  const { status, error } = spawnSync('icacls', accessOf(folder, process.env), {
    timeout: TIMEOUT_MS,
    windowsHide: true,
    stdio: 'ignore',
  })
  if (status === 0) return undefined
  const why = error?.message ?? `icacls ended with exit code ${status}`
  return `The data folder ${folder} may be accessible to other users: ${why}`
}

/** The arguments of icacls: nothing is inherited, this user and the system may do everything. */
export function accessOf(folder: string, env: Readonly<Record<string, string | undefined>>): string[] {
  const user = [env.USERDOMAIN, env.USERNAME].filter(Boolean).join('\\')
  const grants = [user, SYSTEM].map((name) => `${name}:(OI)(CI)F`)
  return [folder, '/inheritance:r', '/grant:r', ...grants]
}

function isWithin(path: string, folder: string): boolean {
  const steps = relative(folder, path)
  return !steps.startsWith('..') && !isAbsolute(steps)
}
