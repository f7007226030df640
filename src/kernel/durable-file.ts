import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** The ending of temporary files. A start removes those that a crash has left. */
export const STALE_TEMP = /\.[0-9a-f]{12}\.tmp$/

/** Writes atomically, even if the power fails: temporary file, fsync, rename, fsync of the folder. */
export function writeDurably(path: string, content: string | Uint8Array, mode: number): void {
  const temp = writeBeside(path, content, mode)
  try {
    renameSync(temp, path)
  } catch (error) {
    rmSync(temp, { force: true })
    throw error
  }
  syncFolder(dirname(path))
}

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

/** A rename is durable only after its folder is synced. Windows cannot open folders and does not need this. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
