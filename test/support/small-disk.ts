import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'

/** Whether this user may mount a small disk. A container may forbid it. */
export const mayMount = process.platform === 'linux' && process.getuid?.() === 0 && canMount()

function canMount(): boolean {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-mount-probe-'))
  try {
    mount(folder, 1)
    execFileSync('umount', [folder], { stdio: 'ignore' })
    return true
  } catch {
    return false
  } finally {
    rmdirSync(folder)
  }
}

function mount(folder: string, megabytes: number): void {
  const options = `size=${megabytes}m,mode=0700`
  execFileSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder], { stdio: 'ignore' })
}

/** Mounts a small disk at this folder until the end of the test. */
export function smallDisk(folder: string, megabytes: number) {
  mkdirSync(folder, { recursive: true })
  mount(folder, megabytes)
  onTestFinished(() => void execFileSync('umount', ['-l', folder]))
  const fillers = join(folder, 'filler')
  return {
    /** Leaves less than 4 KiB. */
    fill: () => {
      mkdirSync(fillers, { recursive: true })
      for (let size = 1 << 20; size >= 4096; size /= 2) {
        try {
          for (let n = 0; ; n += 1)
            writeFileSync(join(fillers, `${size}-${n}-${Date.now()}`), Buffer.alloc(size))
        } catch {
          // full at this size: the rest is filled with smaller files
        }
      }
    },
    free: () => rmSync(fillers, { recursive: true, force: true }),
  }
}
