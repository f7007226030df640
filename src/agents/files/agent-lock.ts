import { randomBytes } from 'node:crypto'
import {
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../kernel/errors.ts'
import { namesIn } from './list-folder.ts'

/** The lock that an agent takes before it writes its own file. We take the same lock. */
export interface LockFacts {
  readonly path: string
  /** An empty folder, a folder with a file in it, or a file. */
  readonly kind: 'directory' | 'populated-directory' | 'file'
  /** The folder where we record each lock while we hold it. */
  readonly ledger: string
}

const STALE_MS = 10_000
const POLL_MS = 25
const TIMEOUT_MS = 5_000

/** Runs `work` while holding the agent's lock. A lock that was not touched for `STALE_MS` is taken over. */
export async function withLock<T>(lock: LockFacts | null, work: () => Promise<T>): Promise<T> {
  if (!lock || !existsSync(dirname(lock.path))) return work()
  await take(lock)
  const note = recordOrRelease(lock)
  const timer = setInterval(() => touch(lock.path), STALE_MS / 4).unref()
  try {
    return await work()
  } finally {
    clearInterval(timer)
    release(lock)
    rmSync(note, { force: true })
  }
}

/** Releases locks that a killed run left behind, so that agents do not wait until they are stale. */
export function releaseLeftLocks(ledger: string): void {
  for (const name of namesIn(ledger).filter((name) => NOTE.test(name))) {
    const note = join(ledger, name)
    try {
      const { inode, ...lock } = JSON.parse(readFileSync(note, 'utf8')) as LockFacts & { inode: number }
      if (statSync(lock.path).ino === inode) release(lock)
    } catch {
      // the lock was released, or the note is incomplete
    }
    rmSync(note, { force: true })
  }
}

/** The name of a note. Other files in the ledger are not ours. */
const NOTE = /^[0-9a-f]{12}\.json$/

/** A lock that cannot be recorded, on a full disk for example, is released again. */
function recordOrRelease(lock: LockFacts): string {
  const note = join(lock.ledger, `${randomBytes(6).toString('hex')}.json`)
  try {
    mkdirSync(lock.ledger, { recursive: true, mode: 0o700 })
    writeFileSync(note, JSON.stringify({ ...lock, inode: statSync(lock.path).ino }), { mode: 0o600 })
    return note
  } catch (error) {
    release(lock)
    rmSync(note, { force: true })
    throw error
  }
}

async function take(lock: LockFacts): Promise<void> {
  const end = performance.now() + TIMEOUT_MS
  while (!tryToTake(lock)) {
    if (isStale(lock.path)) release(lock)
    else if (performance.now() > end) throw locked(lock.path)
    else await sleep(POLL_MS)
  }
}

function tryToTake({ path, kind }: LockFacts): boolean {
  try {
    if (kind === 'directory') mkdirSync(path)
    else if (kind === 'file') takeFile(path)
    else takePopulated(path)
    return true
  } catch (error) {
    if (TAKEN.has((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}
const TAKEN = new Set(['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR', 'EPERM'])

/** A full disk lets the file be created but not written. */
function takeFile(path: string): void {
  const file = openSync(path, 'wx', 0o600)
  try {
    writeSync(file, String(process.pid))
  } catch (error) {
    rmSync(path, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
}

/** Filled aside and moved into place, so that the folder never exists without its owner's file. */
function takePopulated(path: string): void {
  if (existsSync(path)) throw Object.assign(new Error('taken'), { code: 'EEXIST' })
  const staging = `${path}.${randomBytes(6).toString('hex')}`
  mkdirSync(staging)
  try {
    writeFileSync(join(staging, 'owner.json'), JSON.stringify({ pid: process.pid }))
    renameSync(staging, path)
  } catch (error) {
    rmSync(staging, { recursive: true, force: true })
    throw error
  }
}

function release({ path, kind }: LockFacts): void {
  try {
    if (kind === 'directory') rmdirSync(path)
    else if (kind === 'file') unlinkSync(path)
    else rmSync(path, { recursive: true, force: true })
  } catch {
    // another process considered it stale and took it
  }
}

function isStale(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > STALE_MS
  } catch {
    return false // it was released just now
  }
}

function touch(path: string): void {
  try {
    utimesSync(path, new Date(), new Date())
  } catch {
    // the lock was taken from us; the check before the rename protects the file
  }
}

const locked = (path: string): AppError =>
  new AppError('config_locked', `The agent is holding the lock ${path}; nothing was changed`, {
    hint: 'Try again in a moment, or close the agent',
    retryAfterS: 5,
  })
