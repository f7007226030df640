import { randomBytes } from 'node:crypto'
import { closeSync, fsyncSync, openSync, renameSync, rmSync, writeSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'

/** Temporary files carry this ending, so that what a crash leaves can be told and removed. */
export const STALE_TEMP = /\.[0-9a-f]{12}\.tmp$/

/** Whole or not at all, also when the power goes: temp, fsync, rename, fsync of the folder. */
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

/** The first half of it: a temporary file in the same folder, safely on the disk. Whoever asks puts it in its place. */
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

/** A rename is durable only when its folder is. Windows cannot open folders and needs no such step. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return
  const handle = openSync(folder, 'r')
  try {
    fsyncSync(handle)
  } finally {
    closeSync(handle)
  }
}
