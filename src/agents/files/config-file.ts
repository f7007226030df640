import {
  chmodSync,
  chownSync,
  closeSync,
  fstatSync,
  linkSync,
  mkdirSync,
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
import { syncFolder, writeBeside } from '../../kernel/durable-file.ts'
import { AppError } from '../../kernel/errors.ts'
import { Turns } from '../../kernel/turns.ts'
import { type LockFacts, withLock } from './agent-lock.ts'
import { type Content, contentOf } from './config-text.ts'
import { assertMayWrite, type Target, targetOf } from './file-safety.ts'

export interface ConfigFile {
  readonly path: string
  /** The home or the project: a link in it must not lead out of it. */
  readonly root: string
  readonly lock: LockFacts | null
}

/** What there is now; undefined when there is no such file. */
export function readConfig({ path, root }: Pick<ConfigFile, 'path' | 'root'>): Content | undefined {
  const target = targetOf(path, root)
  return target.stats ? contentOf(path, readFileSync(target.path)) : undefined
}

export interface Edit<T> {
  /** Null takes the file away; undefined leaves it as it is. */
  readonly next: Buffer | null | undefined
  readonly result: T
  /** Called when the edit is certain to be tried: what stood there is put in safety. Says how to take that back. */
  readonly secure?: () => () => void
  /** Called with what another program wrote in the very moment of the change. */
  readonly onForeign?: (content: Buffer) => void
}

const MOST_TRIES = 3
/** As long as it takes another program from opening a file to having written it. */
const LATE_MS = 30
const turns = new Turns()

/**
 * Reads, lets `edit` compute, and replaces the file whole: nobody ever sees half of it, and what another program has
 * written before the last look is never lost; then everything is computed anew on what is there. All of ours take
 * turns per file, and the agent's own lock is held where it has one.
 */
export function changeConfig<T>(file: ConfigFile, edit: (now: Content | undefined) => Edit<T>): Promise<T> {
  return turns.take(file.path, () =>
    withLock(file.lock, async () => {
      for (let tries = 1; tries <= MOST_TRIES; tries += 1) {
        const target = targetOf(file.path, file.root)
        const now = target.stats ? contentOf(file.path, readFileSync(target.path)) : undefined
        const { next, result, secure, onForeign } = edit(now)
        if (next === undefined || (next === null && !now)) return result
        assertMayWrite(target)
        const takeBack = secure?.()
        const done = await replace(target, now, next, onForeign).catch((error: unknown) => {
          takeBack?.()
          throw understandable(file.path, error)
        })
        if (done) return result
        takeBack?.()
      }
      throw new AppError('config_changed', `${file.path} is being changed by another program`, {
        hint: 'Nothing was changed; try again in a moment',
      })
    }),
  )
}

/** False when the file is not any more what was read. */
async function replace(
  target: Target,
  seen: Content | undefined,
  next: Buffer | null,
  onForeign: ((content: Buffer) => void) | undefined,
): Promise<boolean> {
  if (!target.stats || !seen) return next !== null && create(target.path, next)
  const temp = next === null ? undefined : writeBeside(target.path, next, 0o600)
  if (temp !== undefined) takeAfter(temp, target.stats)
  const old = openSync(target.path, 'r')
  try {
    if (!isUnchanged(old, target, seen)) return false
    if (temp === undefined) rmSync(target.path)
    else await rename(temp, target.path)
    syncFolder(dirname(target.path))
    // Whoever had the old file open may have written into it after our last look.
    await sleep(LATE_MS)
    const left = readAll(old)
    if (!left.equals(seen.bytes)) onForeign?.(left)
    return true
  } finally {
    closeSync(old)
    if (temp !== undefined) rmSync(temp, { force: true })
  }
}

/** A new file never takes the place of one that came meanwhile. */
function create(path: string, content: Buffer): boolean {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temp = writeBeside(path, content, 0o600)
  try {
    linkSync(temp, path)
    syncFolder(dirname(path))
    return true
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EEXIST') return false
    if (code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EOPNOTSUPP') throw error
    renameSync(temp, path) // a disk without hard links
    syncFolder(dirname(path))
    return true
  } finally {
    rmSync(temp, { force: true })
  }
}

/** The last look: the same file still stands there, and the same is in it. */
function isUnchanged(file: number, { path, stats }: Target, seen: Content): boolean {
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

/** The new file is for whom the old one was for. */
function takeAfter(temp: string, { mode, uid, gid }: Stats): void {
  chmodSync(temp, mode & 0o7777)
  if (process.getgid && process.getgid() !== gid) {
    try {
      chownSync(temp, uid, gid)
    } catch {
      // not a member of that group: the file stays readable for its owner
    }
  }
}

const RENAME_PATIENCE_MS = 2_000

/** On Windows a virus scanner or an editor may hold the file for a moment. */
async function rename(from: string, to: string): Promise<void> {
  const end = performance.now() + RENAME_PATIENCE_MS
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

function understandable(path: string, error: unknown): unknown {
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
