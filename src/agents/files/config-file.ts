import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  linkSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { makeFolder, syncFolder, writeBeside } from '../../kernel/durable-file.ts'
import { AppError } from '../../kernel/errors.ts'
import { Turns } from '../../kernel/turns.ts'
import { type LockFacts, withLock } from './agent-lock.ts'
import { type Content, contentOf } from './config-text.ts'
import { assertWritable, type RealFile, realFileOf } from './file-safety.ts'

export interface ConfigFile {
  readonly path: string
  /** The home or the project folder. A symbolic link inside it must not lead out of it. */
  readonly root: string
  readonly lock: LockFacts | null
}

/** The current content; undefined if the file does not exist. */
export function readConfig({ path, root }: Pick<ConfigFile, 'path' | 'root'>): Content | undefined {
  return contentIn(path, realFileOf(path, root))
}

const contentIn = (path: string, { path: real, stats }: RealFile): Content | undefined =>
  stats && contentOf(path, readFileSync(real))

export interface Edit<T> {
  /** Null removes the file; undefined leaves it unchanged. */
  readonly next: Buffer | null | undefined
  readonly result: T
  /** Called before the write to back up the old content. Returns a function that discards the backup. */
  readonly backUp?: () => () => void
  /** Called with content that another program wrote during the replacement. */
  readonly onForeign?: (content: Buffer) => void
}

const MAX_TRIES = 3
/** Longer than another program needs between opening a file and having written it. */
const LATE_WRITE_MS = 30
const turns = new Turns()

/**
 * Reads the file, calls `edit`, and replaces the file atomically. If another program changes the file before the last
 * check, nothing is overwritten and `edit` is called again with the new content. Changes of one file run one after
 * another, and the agent's own lock is held if it has one.
 */
export function changeConfig<T>(file: ConfigFile, edit: (now: Content | undefined) => Edit<T>): Promise<T> {
  return turns.take(file.path, () =>
    withLock(file.lock, async () => {
      for (let tries = 1; tries <= MAX_TRIES; tries += 1) {
        const real = realFileOf(file.path, file.root)
        const now = contentIn(file.path, real)
        const { next, result, backUp, onForeign } = edit(now)
        if (next === undefined || (next === null && !now)) return result
        assertWritable(real)
        const discardBackup = backUp?.()
        const done = await replace(real, now, next, onForeign).catch((error: unknown) => {
          discardBackup?.()
          throw asAppError(file.path, error)
        })
        if (done) return result
        discardBackup?.()
      }
      throw new AppError('config_changed', `${file.path} is being changed by another program`, {
        hint: 'Nothing was changed. Try again in a moment',
      })
    }),
  )
}

/** False if the file has changed since it was read. */
async function replace(
  real: RealFile,
  seen: Content | undefined,
  next: Buffer | null,
  onForeign: ((content: Buffer) => void) | undefined,
): Promise<boolean> {
  if (!real.stats || !seen) return next !== null && create(real.path, next)
  const temp = next === null ? undefined : writeBeside(real.path, next, 0o600)
  if (temp !== undefined) copyPermissions(temp, real.stats)
  const old = openSync(real.path, 'r')
  try {
    if (!isUnchanged(old, real, seen)) return false
    if (temp === undefined) rmSync(real.path)
    else await rename(temp, real.path)
    syncFolder(dirname(real.path))
    // A program that had the old file open may have written to it after the check.
    await sleep(LATE_WRITE_MS)
    const left = readAll(old)
    if (!left.equals(seen.bytes)) onForeign?.(left)
    return true
  } finally {
    closeSync(old)
    if (temp !== undefined) rmSync(temp, { force: true })
  }
}

/** False if the file exists by now. A hard link, unlike a rename, never replaces an existing file. */
function create(path: string, content: Buffer): boolean {
  makeFolder(dirname(path))
  const temp = writeBeside(path, content, 0o600)
  try {
    linkSync(temp, path)
    syncFolder(dirname(path))
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP') throw error
    renameSync(temp, path) // a file system without hard links
    syncFolder(dirname(path))
    return true
  } finally {
    rmSync(temp, { force: true })
  }
}

/** The last check before the rename: the path still leads to the same file with the same bytes. */
function isUnchanged(file: number, { path, stats }: RealFile, seen: Content): boolean {
  const isSame = ({ ino, dev }: Stats) => ino === stats?.ino && dev === stats.dev
  return isSame(fstatSync(file)) && readAll(file).equals(seen.bytes) && isSame(statSync(path))
}

function readAll(file: number): Buffer {
  const bytes = Buffer.alloc(fstatSync(file).size)
  let length = 0
  while (length < bytes.length) {
    const more = readSync(file, bytes, length, bytes.length - length, length)
    if (more === 0) break
    length += more
  }
  return bytes.subarray(0, length)
}

function copyPermissions(temp: string, { mode, uid, gid }: Stats): void {
  chmodSync(temp, mode & 0o7777)
  if (process.getgid && process.getgid() !== gid) {
    try {
      chownSync(temp, uid, gid)
    } catch {
      // not a member of that group: the file stays readable for its owner
    }
  }
}

const RENAME_TIMEOUT_MS = 2_000

/** On Windows a virus scanner or an editor may hold the file for a moment. */
async function rename(from: string, to: string): Promise<void> {
  const end = performance.now() + RENAME_TIMEOUT_MS
  for (;;) {
    try {
      renameSync(from, to)
      return
    } catch (error) {
      const held = ['EPERM', 'EACCES', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')
      if (process.platform !== 'win32' || !held || performance.now() > end) throw error
      await sleep(50)
    }
  }
}

function asAppError(path: string, error: unknown): unknown {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ENOSPC':
    case 'EDQUOT':
      return new AppError('disk_full', `The disk that holds ${path} is full; nothing was changed`, {
        cause: error,
      })
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return new AppError('config_read_only', `${path} cannot be written; nothing was changed`, {
        cause: error,
      })
    default:
      return error
  }
}
