// Two starts on a fresh clone must not install over each other.
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
 * Runs `work` while holding the lock of this checkout. The lock lies in the temporary folder, because
 * `npm ci` removes node_modules with everything in it. It is a folder that holds one file named after
 * its owner. Both ways of getting it are a single rename, so exactly one of many succeeds: a folder that
 * is prepared and moved into place, or the file of a dead owner that is renamed to ours.
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
      // The next owner may have moved in already.
    }
  }
  process.once('exit', release) // also the way out of `fail` and of a signal during `run`
  try {
    // A killed start leaves npm running; who takes the lock over waits for that process too.
    return await work((pid) => writeFileSync(join(LOCK, CHILD), identityOf(pid)))
  } finally {
    process.off('exit', release)
    release()
  }
}

async function take(me) {
  const prepared = mkdtempSync(`${LOCK}-`)
  const startedAt = performance.now()
  let told = false
  writeFileSync(join(prepared, `owner-${me}`), '')
  try {
    for (;;) {
      if (moved(prepared, LOCK)) return
      const holder = readHolder()
      if (holder && !holder.alive && moved(join(LOCK, holder.file), join(LOCK, `owner-${me}`))) return
      if (performance.now() - startedAt > WAIT_MS) {
        fail(`Another start (pid ${holder?.pid}) has been preparing this checkout for too long; see ${LOCK}`)
      }
      if (!told && holder?.alive && performance.now() - startedAt > 1_000) {
        say(`Waiting for another start that is preparing this checkout (pid ${holder.pid}) …`)
        told = true
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
    // Somebody holds it (not empty, exists; Windows says EPERM), or somebody was faster (gone).
    if (['ENOTEMPTY', 'EEXIST', 'EPERM', 'EBUSY', 'ENOENT'].includes(error.code)) return false
    throw error
  }
}

function readHolder() {
  try {
    const file = readdirSync(LOCK).find((name) => name.startsWith('owner-'))
    if (!file) {
      rmdirSync(LOCK) // between release and now; on Windows nobody can move onto an empty folder
      return undefined
    }
    const owner = file.slice('owner-'.length)
    const child = existsSync(join(LOCK, CHILD)) ? readFileSync(join(LOCK, CHILD), 'utf8') : ''
    const working = isAlive(owner) ? owner : child
    return { file, pid: Number.parseInt(working, 10), alive: isAlive(working) }
  } catch {
    return undefined // it changed hands while we looked
  }
}

/** The pid, and on Linux the start time of the process: a pid alone may belong to somebody else by now. */
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
