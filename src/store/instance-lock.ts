import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../kernel/durable-file.ts'
import { StartError } from '../kernel/exit.ts'
import { openSqlite, sqliteErrorKind } from './sqlite/sqlite.ts'

interface InstanceLock {
  /** Writes the address of this instance to `instance.json`. Only the lock decides who owns the folder. */
  announce(address: string): void
  release(): void
}

/**
 * Allows one instance per data folder with an exclusive transaction on `lock.db`. The operating system releases the
 * lock when the process ends, so it cannot become stale.
 */
export function lockDataFolder(folder: string): InstanceLock {
  const path = join(folder, 'lock.db')
  closeSync(openSync(path, 'a', 0o600))
  const database = openSqlite(path)
  try {
    database.exec('PRAGMA busy_timeout = 200; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    if (sqliteErrorKind(cause) !== 'busy') throw cause
    throw new StartError('folder_in_use', `The data folder ${folder} is in use by ${ownerOf(folder)}`, cause)
  }
  return {
    announce: (address) => {
      const instance = { pid: process.pid, address, started_at: new Date().toISOString() }
      writeDurably(join(folder, 'instance.json'), `${JSON.stringify(instance)}\n`, 0o600)
    },
    release: () => {
      rmSync(join(folder, 'instance.json'), { force: true })
      database.close()
    },
  }
}

function ownerOf(folder: string): string {
  try {
    const { pid, address } = JSON.parse(readFileSync(join(folder, 'instance.json'), 'utf8'))
    return `the Toolroom at ${address} (process ${pid})`
  } catch {
    return 'another Toolroom' // which has not called `announce` yet
  }
}
