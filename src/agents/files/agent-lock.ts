import { randomBytes } from 'node:crypto'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  unlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { AppError } from '../../kernel/errors.ts'

/** How an agent keeps its other copies from writing: we wait for it, and it waits for us. */
export interface LockFacts {
  readonly path: string
  /** An empty folder; a folder with a file in it; a file. */
  readonly kind: 'directory' | 'populated-directory' | 'file'
  /** Where we write down that it is ours while we hold it. */
  readonly ledger: string
}

const STALE_MS = 10_000
const POLL_MS = 25
const PATIENCE_MS = 5_000

/** Holds the agent's lock while `work` runs. Whoever left a lock without touching it for so long is gone. */
export async function withLock<T>(lock: LockFacts | null, work: () => Promise<T>): Promise<T> {
  if (!lock || !exists(dirname(lock.path))) return work()
  await take(lock)
  const note = writeDown(lock)
  const touch = setInterval(() => touched(lock.path), STALE_MS / 4).unref()
  try {
    return await work()
  } finally {
    clearInterval(touch)
    release(lock)
    rmSync(note, { force: true })
  }
}

/** Gives back what an earlier run held when it was killed, so that nobody has to wait until it is stale. */
export function releaseLeftLocks(ledger: string): void {
  for (const name of namesIn(ledger)) {
    const note = join(ledger, name)
    try {
      const { inode, ...lock } = JSON.parse(readFileSync(note, 'utf8')) as LockFacts & { inode: number }
      if (statSync(lock.path).ino === inode) release(lock)
    } catch {
      // it was given back in time, or the note is only half written
    }
    rmSync(note, { force: true })
  }
}

function writeDown(lock: LockFacts): string {
  mkdirSync(lock.ledger, { recursive: true, mode: 0o700 })
  const note = join(lock.ledger, `${randomBytes(6).toString('hex')}.json`)
  writeFileSync(note, JSON.stringify({ ...lock, inode: statSync(lock.path).ino }), { mode: 0o600 })
  return note
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // no lock was ever taken
  }
}

async function take(lock: LockFacts): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!tryToTake(lock)) {
    if (isStale(lock.path)) release(lock)
    else if (performance.now() > end) throw locked(lock.path)
    else await sleep(POLL_MS)
  }
}

function tryToTake({ path, kind }: LockFacts): boolean {
  try {
    if (kind === 'directory') mkdirSync(path)
    else if (kind === 'file') writeFileSync(path, String(process.pid), { flag: 'wx', mode: 0o600 })
    else takePopulated(path)
    return true
  } catch (error) {
    if (TAKEN.has((error as NodeJS.ErrnoException).code ?? '')) return false
    throw error
  }
}
const TAKEN = new Set(['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR', 'EPERM'])

/** Made aside and moved into place, so that nobody ever sees the folder without its owner's file. */
function takePopulated(path: string): void {
  if (exists(path)) throw Object.assign(new Error('taken'), { code: 'EEXIST' })
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
    // somebody else took it for stale
  }
}

function isStale(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > STALE_MS
  } catch {
    return false // it has just been given back
  }
}

function touched(path: string): void {
  try {
    utimesSync(path, new Date(), new Date())
  } catch {
    // taken away: the re-check before the rename decides
  }
}

function exists(path: string): boolean {
  try {
    statSync(path)
    return true
  } catch {
    return false
  }
}

const locked = (path: string): AppError =>
  new AppError('config_locked', `The agent holds the lock ${path}; nothing was changed`, {
    hint: 'Try again in a moment, or close the agent',
    retryAfterS: 5,
  })
