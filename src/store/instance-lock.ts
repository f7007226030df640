import { closeSync, existsSync, openSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { StartError } from '../kernel/exit-codes.ts'
import { writeDurably } from '../kernel/files/durable-file.ts'
import { openSqlite } from './sqlite/sqlite.ts'
import { sqliteErrorKind } from './sqlite/sqlite-errors.ts'

interface Owner {
  readonly pid: number
  readonly address: string
}

interface InstanceLock {
  /** Whether the last instance ended without `release`. It may have left processes behind. */
  readonly wasKilled: boolean
  /** Writes the address of this instance to `instance.json`. Only the lock decides who owns the folder. */
  announce(address: string): void
  release(): void
}

/**
 * Allows one instance per data folder with an exclusive transaction on `lock.db`. The operating system releases the
 * lock when the process ends, so it cannot become stale.
 */
export function lockDataFolder(folder: string, ownerOf: (folder: string) => Owner | undefined): InstanceLock {
  const path = join(folder, 'lock.db')
  // Only a new file: closing any descriptor of a file releases all locks that this process has on it.
  if (!existsSync(path)) closeSync(openSync(path, 'a', 0o600))
  const database = openSqlite(path)
  try {
    database.exec('PRAGMA busy_timeout = 200; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    const kind = sqliteErrorKind(cause)
    if (kind === 'damaged') {
      const what = `${path} is damaged; delete it while no Toolroom uses the folder`
      throw new StartError('store_damaged', what, cause)
    }
    if (kind !== 'busy') throw cause
    const owner = ownerOf(folder) // undefined until it has called `announce`
    const who = owner ? `the Toolroom at ${owner.address} (process ${owner.pid})` : 'another Toolroom'
    throw new StartError('folder_in_use', `The data folder ${folder} is in use by ${who}`, cause)
  }
  const announced = join(folder, 'instance.json')
  return {
    wasKilled: existsSync(announced),
    announce: (address) => {
      const instance = { pid: process.pid, address, started_at: new Date().toISOString() }
      writeDurably(announced, `${JSON.stringify(instance)}\n`, 0o600)
    },
    release: () => {
      rmSync(announced, { force: true })
      database.close()
    },
  }
}
