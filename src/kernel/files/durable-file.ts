import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import { readForeignHead } from './foreign-file.ts'

export const IS_WINDOWS = process.platform === 'win32'

/** Removes temporary files that a crash during a write of these files has left. Only names that we write match. */
export function removeStaleTemps(paths: readonly string[]): void {
  for (const folder of new Set(paths.map((path) => dirname(path)))) {
    const names = paths.filter((path) => dirname(path) === folder).map((path) => basename(path))
    for (const name of namesIn(folder))
      if (names.some((each) => isTempOf(each, name))) removeTemp(join(folder, name))
  }
}

function removeTemp(path: string): void {
  try {
    rmSync(path, { force: true })
  } catch {
    // A folder of this name, or a read-only file system. Temporary files are never read, so it may stay.
  }
}

export const isTempOf = (name: string, temp: string): boolean =>
  temp.startsWith(`.${name}.`) && /^[0-9a-f]{12}\.tmp$/.test(temp.slice(name.length + 2))

/** The file that marks a folder as ours, and how it begins. Without it, nothing in a folder is deleted. */
export const MARKER = '.toolroom'
const MARKED = 'Made by Toolroom'

export function isMarked(folder: string): boolean {
  try {
    return readForeignHead(join(folder, MARKER), MARKED.length).toString() === MARKED
  } catch {
    return false // there is no such file, or it is not a regular one
  }
}

export function markFolder(folder: string): void {
  writeDurably(join(folder, MARKER), `${MARKED}, which may delete what is in this folder.\n`, 0o600)
}

/** Creates a folder with access for its owner only. It survives a power cut, with the folders above it. */
export function makeFolder(path: string): void {
  const made = mkdirSync(path, { recursive: true, mode: 0o700 })
  if (made === undefined || IS_WINDOWS) return // there, `made` has another form than `path`, and no folder is synced
  const top = dirname(resolve(made))
  for (let folder = resolve(path); folder !== top; folder = dirname(folder)) syncFolder(dirname(folder))
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // the folder does not exist, or may not be read
  }
}

/** Writes atomically, even if the power fails: temporary file, fsync, rename, fsync of the folder. */
export function writeDurably(path: string, content: string | Uint8Array, mode: number): void {
  const temp = writeBeside(path, content, mode)
  try {
    renameOver(temp, path)
  } catch (error) {
    rmSync(temp, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}

/** How long an attempt to rename a file that another program has open is repeated. */
export const HELD_TIMEOUT_MS = 2_000
const HELD_POLL_MS = 20

/** Renames, and replaces what has the new name. On Windows a virus scanner may hold either file for a moment. */
export function renameOver(from: string, to: string): void {
  const end = performance.now() + HELD_TIMEOUT_MS
  for (;;) {
    try {
      renameSync(from, to)
      return
    } catch (error) {
      if (!isHeld(error) || performance.now() > end) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, HELD_POLL_MS)
    }
  }
}

/** Whether Windows refused because another program has the file open. */
export const isHeld = (error: unknown): boolean =>
  IS_WINDOWS && ['EPERM', 'EACCES', 'EBUSY'].includes((error as NodeJS.ErrnoException).code ?? '')

/** Writes and syncs a temporary file in the same folder. Returns its path; the caller renames it. */
export function writeBeside(path: string, content: string | Uint8Array, mode: number): string {
  const temp = join(dirname(path), `.${basename(path)}.${randomBytes(6).toString('hex')}.tmp`)
  try {
    const file = openSync(temp, 'wx', mode)
    try {
      const bytes = typeof content === 'string' ? Buffer.from(content) : content
      for (let done = 0; done < bytes.length; ) done += writeSync(file, bytes, done)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    return temp
  } catch (error) {
    rmSync(temp, { force: true })
    throw error
  }
}

/**
 * A rename is durable only after its folder is synced. Windows cannot open folders and does not need this. A folder that may
 * not be read cannot be opened either: the rename is done, and becomes durable when the system writes it.
 */
export function syncFolder(folder: string): void {
  if (IS_WINDOWS) return
  try {
    sync(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EACCES') throw error
  }
}

/** For a file that another program or a library has written. */
export const syncFile = (path: string): void => sync(path)

function sync(path: string): void {
  const handle = openSync(path, IS_WINDOWS ? 'r+' : 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
