import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { atEnd } from './lifetime.ts'

/** True when this user may mount file systems: root on Linux, but not in every container. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0 && canMount()

function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-mount-probe-'))
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', folder], { stdio: 'ignore' })
    execFileSync('umount', [folder], { stdio: 'ignore' })
    return true
  } catch {
    return false // a container without permission to mount
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A file system of its own at this folder, of this size. It is unmounted after the test. */
export function smallDisk(folder: string, megabytes: number) {
  mkdirSync(folder, { recursive: true })
  execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m,mode=0700`, 'tmpfs', folder])
  atEnd(() => void execFileSync('umount', ['-l', folder]))
  const fillers = () => readdirSync(folder).filter((name) => name.startsWith('filler-'))
  let count = 0
  const freeBytes = () => {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  }
  /** Leaves this many bytes free, or less. */
  const fill = (left = 0) => {
    for (let bytes = freeBytes(); bytes > left; bytes = freeBytes()) {
      count += 1
      try {
        writeFileSync(join(folder, `filler-${count}`), Buffer.alloc(Math.min(bytes - left, 1 << 20)))
      } catch {
        return // written in part: nothing is left
      }
    }
  }
  const free = () => {
    for (const name of fillers()) rmSync(join(folder, name))
  }
  return { fill, free, freeBytes }
}
