import { closeSync, openSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../kernel/durable-file.ts'
import { StartError } from '../kernel/exit.ts'
import { openSqlite, sqliteTrouble } from './sqlite/sqlite.ts'

interface InstanceLock {
  /** Tells others where this instance answers. Information only: the lock is the truth. */
  announce(address: string): void
  release(): void
}

/**
 * One instance per data folder: an exclusive transaction on a small database of its own. The operating system ends
 * it with the process, whatever way the process ends, so nothing can go stale.
 */
export function lockDataFolder(folder: string): InstanceLock {
  const path = join(folder, 'lock.db')
  closeSync(openSync(path, 'a', 0o600))
  const database = openSqlite(path)
  try {
    database.exec('PRAGMA busy_timeout = 200; PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (cause) {
    database.close()
    if (sqliteTrouble(cause) !== 'busy') throw cause
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
    return 'another Toolroom' // it has not announced itself yet
  }
}
