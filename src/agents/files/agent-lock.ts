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
import { namesIn } from './file-backups.ts'

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

/** Takes the agent's lock, and returns what releases it. A lock that was not touched for `STALE_MS` is taken over. */
export async function takeLock(lock: LockFacts): Promise<() => void> {
  if (!existsSync(dirname(lock.path))) return () => {}
  const note = await take(lock)
  const timer = setInterval(() => touch(lock.path), STALE_MS / 4).unref()
  return () => {
    clearInterval(timer)
    release(lock)
    rmSync(note, { force: true })
  }
}

/**
 * A lock that we hold, or are about to take. It is written before the lock exists, so that a kill at any moment leaves
 * no lock without a note.
 */
interface Note extends LockFacts {
  /** Null for a lock that is about to be made at `at`, and whose inode is not known yet. */
  readonly inode: number | null
  readonly at: number
}

/** Releases locks that a killed run left behind, so that agents do not wait until they are stale. */
export function releaseLeftLocks(ledger: string): void {
  for (const name of namesIn(ledger).filter((name) => NOTE.test(name))) {
    const file = join(ledger, name)
    try {
      const note = JSON.parse(readFileSync(file, 'utf8')) as Note
      if (isOurs(note)) release(note)
      rmSync(stagingOf(note, name), { recursive: true, force: true })
    } catch {
      // the lock was released, or the note is incomplete
    }
    rmSync(file, { force: true })
  }
}

/** The name of a note. Other files in the ledger are not ours. */
const NOTE = /^[0-9a-f]{12}\.json$/
/** The clock of a file system may be behind by some milliseconds. */
const CLOCK_MS = 100
/** An agent that holds the lock touches it again later. */
const MADE_WITHIN_MS = 1_000

function isOurs({ path, inode, at }: Note): boolean {
  const { ino, mtimeMs } = statSync(path)
  return inode === null ? mtimeMs > at - CLOCK_MS && mtimeMs < at + MADE_WITHIN_MS : ino === inode
}

/** Returns the note. */
async function take(lock: LockFacts): Promise<string> {
  const end = performance.now() + TIMEOUT_MS
  for (;;) {
    const note = existsSync(lock.path) ? undefined : tryToTake(lock)
    if (note !== undefined) return note
    if (isStale(lock.path)) release(lock)
    else if (performance.now() > end) throw locked(lock.path)
    else await sleep(POLL_MS)
  }
}

/** Undefined if another program was faster. */
function tryToTake(lock: LockFacts): string | undefined {
  const name = `${randomBytes(6).toString('hex')}.json`
  const note = join(lock.ledger, name)
  const staging = stagingOf(lock, name)
  const write = (inode: number | null) => {
    const facts: Note = { ...lock, inode, at: Date.now() }
    writeFileSync(note, JSON.stringify(facts), { mode: 0o600 })
  }
  let isTaken = false
  try {
    mkdirSync(lock.ledger, { recursive: true, mode: 0o700 })
    write(lock.kind === 'populated-directory' ? populated(staging) : null)
    putInPlace(lock, staging)
    isTaken = true
    if (lock.kind !== 'populated-directory') write(statSync(lock.path).ino)
    return note
  } catch (error) {
    if (isTaken) release(lock)
    rmSync(staging, { recursive: true, force: true })
    rmSync(note, { force: true })
    if (!isTaken && TAKEN.has((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
}
const TAKEN = new Set(['EEXIST', 'ENOTEMPTY', 'EISDIR', 'ENOTDIR', 'EPERM'])

/** Where a populated folder is filled, so that it never exists without its owner's file. */
const stagingOf = ({ path }: LockFacts, note: string): string => `${path}.${note.slice(0, -'.json'.length)}`

/** Returns its inode, which the lock is going to have. */
function populated(folder: string): number {
  mkdirSync(folder)
  writeFileSync(join(folder, 'owner.json'), JSON.stringify({ pid: process.pid }))
  return statSync(folder).ino
}

/** Fails if the lock exists: a folder that has a file in it is not replaced by a rename. */
function putInPlace({ path, kind }: LockFacts, staging: string): void {
  if (kind === 'directory') mkdirSync(path)
  else if (kind === 'populated-directory') renameSync(staging, path)
  else takeFile(path)
}

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
