import { existsSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../../kernel/files/durable-file.ts'

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

/** Whether a write leaves what other files of the data folder need: on a full disk, changes that free space and a start. */
export const leavesSpare = (folder: string, bytes: number): boolean =>
  diskBytes(folder) - bytes >= SPARE_BYTES
const SPARE_BYTES = 2 * MIB

function diskBytes(folder: string): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.POSITIVE_INFINITY // unknown for this file system; a write fails if the disk is full
  }
}

const RESERVE_BYTES = 4 * 1024 * 1024
/** What a start writes before the configuration is open. */
const START_BYTES = MIB
/** Free space that is needed before the reserve is created again. */
const RECOVERED_BYTES = 2 * RESERVE_BYTES

/**
 * On a full disk even a DELETE fails, because SQLite writes before it frees. So a 4 MiB file is kept while there is
 * space. It is deleted when the disk is full; until it can be created again, only changes that free space are allowed.
 */
export class DiskReserve {
  readonly #file: string
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.#file = join(folder, 'reserve')
  }

  /** Creates the reserve if it is missing. Returns false when the disk is too full, so changes must be refused. */
  ensure(): boolean {
    if (existsSync(this.#file) && statSync(this.#file).size === RESERVE_BYTES) return true
    if (this.#freeBytes() < RECOVERED_BYTES) return false
    try {
      writeDurably(this.#file, Buffer.alloc(RESERVE_BYTES), 0o600)
      return true
    } catch {
      return false // still full; the next change tries again
    }
  }

  /** Like `ensure`, but creates nothing. */
  hasRoom(): boolean {
    return existsSync(this.#file) || this.#freeBytes() >= RECOVERED_BYTES
  }

  /** Before a start on a full disk, which writes some files. */
  releaseForStart(): void {
    if (this.#freeBytes() < START_BYTES) this.release()
  }

  release(): void {
    rmSync(this.#file, { force: true })
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder)
    return bavail * bsize
  }
}
