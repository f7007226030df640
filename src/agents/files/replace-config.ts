import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  linkSync,
  renameSync,
  rmSync,
  type Stats,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError, diskFull } from '../../kernel/errors.ts'
import {
  HELD_TIMEOUT_MS,
  IS_WINDOWS,
  isHeld,
  makeFolder,
  renameOver,
  syncFolder,
  writeBeside,
} from '../../kernel/files/durable-file.ts'
import { openForeign, readOpen, UnsafeFile } from '../../kernel/files/foreign-file.ts'
import { MAX_BYTES } from '../formats/format.ts'
import { type Content, type RealFile, unsafe } from './read-config.ts'

/** Longer than another program needs between opening a file and having written it. */
const LATE_WRITE_MS = 30
const HELD_POLL_MS = 50
/** How long a write that began before the replacement may take. */
const LATE_WRITE_TIMEOUT_MS = 2_000

/**
 * Replaces the file atomically; null removes it. Returns undefined, and changes nothing, if the file has changed since
 * it was read. `foreign` is content that another program wrote during the replacement.
 */
export async function replaceFile(
  real: RealFile,
  seen: Content | undefined,
  next: Buffer | null,
): Promise<{ readonly foreign: Buffer | undefined } | undefined> {
  if (!real.stats || !seen)
    return next !== null && create(real.path, next) ? { foreign: undefined } : undefined
  let temp: string | undefined
  let old: number | undefined
  try {
    if (next !== null) {
      temp = writeBeside(real.path, next, 0o600)
      copyPermissions(temp, real.stats)
    }
    for (const end = performance.now() + HELD_TIMEOUT_MS; ; await sleep(HELD_POLL_MS)) {
      try {
        old = openExisting(real.path)
        if (old === undefined || !isUnchanged(old, real, seen)) return undefined
        if (IS_WINDOWS) {
          closeSync(old)
          old = undefined
        }
        if (temp === undefined) rmSync(real.path)
        else renameSync(temp, real.path)
        break
      } catch (error) {
        if (!isHeld(error) || performance.now() > end) throw error
      }
    }
    syncFolder(dirname(real.path))
    // Windows replaces a file only when no program has it open, so none can write to the old one.
    return { foreign: old === undefined ? undefined : await lateWrite(old, seen) }
  } finally {
    if (old !== undefined) closeSync(old)
    if (temp !== undefined) rmSync(temp, { force: true })
  }
}

function openExisting(path: string): number | undefined {
  try {
    return openForeign(path, 'refuse')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/**
 * What a program that had the old file open wrote to it after the last check; undefined if nothing. A program that
 * has truncated the file gets the time to write it.
 */
async function lateWrite(old: number, seen: Content): Promise<Buffer | undefined> {
  await sleep(LATE_WRITE_MS)
  let last = readAll(old)
  if (last.equals(seen.bytes)) return undefined
  for (const end = performance.now() + LATE_WRITE_TIMEOUT_MS; performance.now() < end; ) {
    await sleep(LATE_WRITE_MS)
    const now = readAll(old)
    if (now.length > 0 && now.equals(last)) return now
    last = now
  }
  return last
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
    renameOver(temp, path) // a file system without hard links
    syncFolder(dirname(path))
    return true
  } finally {
    rmSync(temp, { force: true })
  }
}

/** The last check before the rename: the path still leads to the same file with the same bytes. */
function isUnchanged(file: number, { path, stats }: RealFile, seen: Content): boolean {
  const isSame = (now: Stats | undefined) => now?.ino === stats?.ino && now?.dev === stats?.dev
  const isSameContent = isSame(fstatSync(file)) && readAll(file).equals(seen.bytes)
  return isSameContent && isSame(statSync(path, { throwIfNoEntry: false }))
}

/** One byte more than is ever accepted, so that a file that grew is not equal to what was read. */
const readAll = (file: number): Buffer => readOpen(file, MAX_BYTES + 1)

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

/** Maps errors of the file system to error codes; returns other errors unchanged. */
export function asAppError(path: string, error: unknown): unknown {
  if (error instanceof UnsafeFile) return unsafe(path, 'is not a regular file')
  switch ((error as NodeJS.ErrnoException).code) {
    case 'ELOOP':
      return unsafe(path, 'is being replaced by a link')
    case 'ENOSPC':
    case 'EDQUOT':
      return diskFull(`The disk that holds ${path} or the data folder is full; nothing was changed`, error)
    case 'EROFS':
    case 'EACCES':
    case 'EPERM':
      return new AppError('config_read_only', `${path} cannot be written; nothing was changed`, {
        cause: error,
      })
    case 'EBUSY':
      return new AppError(
        'config_read_only',
        `${path} cannot be replaced, because it is a mount point or in use by the system; nothing was changed`,
        { hint: 'Mount its folder instead of the file, so that the file can be replaced', cause: error },
      )
    default:
      return error
  }
}
