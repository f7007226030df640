import { chmodSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { STALE_TEMP } from '../kernel/durable-file.ts'
import { StartError } from '../kernel/exit.ts'

/** Makes the folder, for its owner alone, and says what had to be mended. */
export function prepareDataFolder(path: string): string[] {
  try {
    mkdirSync(path, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new StartError('configuration', `The data folder ${path} cannot be made: ${why}`, cause)
  }
  const { uid, mode } = statSync(path)
  if (process.getuid && uid !== process.getuid()) {
    throw new StartError(
      'configuration',
      `The data folder ${path} belongs to another user; set TOOLROOM_HOME to one of yours`,
    )
  }
  if (process.platform === 'win32' || (mode & 0o077) === 0) return []
  chmodSync(path, 0o700)
  return [`The data folder ${path} was open to other users of this computer; that is mended`]
}

/** What a crash in the middle of a write may have left. Only to be called by the one instance that owns the folder. */
export function removeStaleTemps(path: string): void {
  for (const name of readdirSync(path)) if (STALE_TEMP.test(name)) rmSync(join(path, name), { force: true })
}
