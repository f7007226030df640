// A lock, so that two simultaneous starts in one checkout do not install over each other.
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fail, hashFiles, root, say } from './lib.mjs'

const WAIT_MS = 15 * 60_000
const POLL_MS = 100

/**
 * Runs `work` while holding the lock of this checkout. The lock is in the temporary folder, because `npm ci` removes
 * node_modules. It is a folder with one file named after its owner. Both ways to acquire it are a single rename, so exactly
 * one of several processes succeeds: renaming a prepared folder into place, or renaming the file of a dead owner.
 */
export async function withLock(work) {
  const me = identityOf(process.pid)
  const mine = join(LOCK, `owner-${me}`)
  await take(me)
  const release = () => {
    rmSync(join(LOCK, CHILD), { force: true })
    rmSync(mine, { force: true })
    try {
      rmdirSync(LOCK)
    } catch {
      // The next owner may already hold the lock.
    }
  }
  process.once('exit', release) // also after `fail` and after a signal during `run`
  try {
    // A killed start leaves npm running; the next owner of the lock waits for that process too.
    return await work((pid) => writeFileSync(join(LOCK, CHILD), identityOf(pid)))
  } finally {
    process.off('exit', release)
    release()
  }
}

async function take(me) {
  const prepared = mkdtempSync(`${LOCK}-`)
  const startedAt = performance.now()
  let printed = false
  writeFileSync(join(prepared, `owner-${me}`), '')
  try {
    for (;;) {
      if (moved(prepared, LOCK)) return
      const holder = readHolder()
      if (holder && !holder.alive && moved(join(LOCK, holder.file), join(LOCK, `owner-${me}`))) return
      if (performance.now() - startedAt > WAIT_MS) {
        fail(
          `Another start (pid ${holder?.pid}) has held the lock of this checkout for too long; see ${LOCK}`,
        )
      }
      if (!printed && holder?.alive && performance.now() - startedAt > 1_000) {
        say(`Waiting for another start that is preparing this checkout (pid ${holder.pid}) …`)
        printed = true
      }
      await sleep(POLL_MS)
    }
  } finally {
    rmSync(prepared, { recursive: true, force: true })
  }
}

function moved(from, to) {
  try {
    renameSync(from, to)
    return true
  } catch (error) {
    // Another process holds it (not empty, exists; EPERM on Windows), or has just taken it (gone).
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'EBUSY', 'ENOENT'].includes(error.code)) return false
    throw error
  }
}

function readHolder() {
  try {
    const file = readdirSync(LOCK).find((name) => name.startsWith('owner-'))
    if (!file) {
      rmdirSync(LOCK) // just released; on Windows a rename cannot replace an empty folder
      return undefined
    }
    const owner = file.slice('owner-'.length)
    const child = existsSync(join(LOCK, CHILD)) ? readFileSync(join(LOCK, CHILD), 'utf8') : ''
    const working = isAlive(owner) ? owner : child
    return { file, pid: Number.parseInt(working, 10), alive: isAlive(working) }
  } catch {
    return undefined // the owner changed in the meantime
  }
}

/** The pid, and on Linux the start time of the process, because a pid can be reused. */
function identityOf(pid) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const startTime = stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19]
    return `${pid}-${startTime}`
  } catch {
    return `${pid}`
  }
}

function isAlive(identity) {
  const pid = Number.parseInt(identity, 10)
  if (!(pid > 0)) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    if (error.code !== 'EPERM') return false
  }
  return identityOf(pid) === identity
}

const CHILD = 'child'
const LOCK = join(
  tmpdir(),
  `toolroom-${process.getuid?.() ?? 'user'}-${hashFiles([], root).slice(0, 16)}.lock`,
)
