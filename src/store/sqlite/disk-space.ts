import { statfsSync } from 'node:fs'

const MIB = 1024 * 1024

/** The larger a file, the more free space it leaves to other programs, and to the reserve of the configuration. */
const LEAVES_FREE = [
  { upTo: MIB, free: 2 * MIB },
  { upTo: 8 * MIB, free: 12 * MIB },
  { upTo: Number.POSITIVE_INFINITY, free: 32 * MIB },
]

/** Whether a file of this size may grow: it stops before other programs run out of space. */
export function mayGrow(folder: string, size: number, bytes: number): boolean {
  const left = diskBytes(folder) - bytes
  return LEAVES_FREE.some(({ upTo, free }) => size + bytes <= upTo && left >= free)
}

function diskBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY // unknown for this file system; a write fails if the disk is full
  }
}
