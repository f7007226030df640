import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { STALE_TEMP } from '../kernel/durable-file.ts'
import { configError } from '../kernel/exit.ts'

/** Creates the folder with access for its owner only. Returns a warning for each permission it had to correct. */
export function prepareDataFolder(path: string): string[] {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw configError(`Cannot create the data folder ${path}: ${why}`, cause)
  }
  const { uid, mode } = statSync(path)
  if (process.getuid && uid !== process.getuid()) {
    throw configError(
      `The data folder ${path} belongs to another user; set TOOLROOM_HOME to a folder of your own`,
    )
  }
  if (process.platform === 'win32' || (mode & 0o077) === 0) return []
  chmodSync(path, 0o700)
  return [`The data folder ${path} was accessible to other users. Its permissions were corrected`]
}

/** Removes temporary files that a crash has left. Only for the instance that holds the folder's lock. */
export function removeStaleTemps(path: string): void {
  for (const name of readdirSync(path)) if (STALE_TEMP.test(name)) rmSync(join(path, name), { force: true })
}
