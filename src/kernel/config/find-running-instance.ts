import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

export interface Instance {
  readonly pid: number
  readonly address: string
}

/**
 * The service that uses this data folder, as it has announced itself in `instance.json`. Undefined unless that process
 * holds the lock of the folder: a killed service leaves the file behind, another process may have its pid now, and
 * another program its port, which must get neither key nor token.
 */
export function runningInstance(folder: string, locks = listLocks): Instance | undefined {
  try {
    const { pid, address } = JSON.parse(readFileSync(join(folder, 'instance.json'), 'utf8'))
    if (!Number.isInteger(pid) || typeof address !== 'string') return undefined
    return holdsLock(pid, join(folder, 'lock.db'), locks) ? { pid, address } : undefined
  } catch {
    return undefined // no such file, or no such process
  }
}

/** The list has `POSIX ADVISORY WRITE <pid> <device>:<inode>`. Some file systems report another device than `stat`. */
function holdsLock(pid: number, file: string, locks: typeof listLocks): boolean {
  const inode = statSync(file, { bigint: true }).ino
  const isHeld = ([, kind, , mode, holder, on]: readonly string[]) =>
    kind === 'POSIX' && mode === 'WRITE' && holder === String(pid) && on?.endsWith(`:${inode}`)
  const isSeen = () => locks()?.some(isHeld) ?? process.kill(pid, 0) // throws if there is no such process
  // The kernel gives the list in parts, and one that changes meanwhile may lack an entry. So it is read again.
  return [1, 2, 3, 4].some(isSeen)
}

/** Undefined on systems other than Linux. */
export function listLocks(): string[][] | undefined {
  try {
    const lines = readFileSync('/proc/locks', 'utf8').split('\n')
    return lines.map((line) => line.trim().split(/\s+/))
  } catch {
    return undefined
  }
}
