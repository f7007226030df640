import { existsSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { writeDurably } from '../../kernel/durable-file.ts'

const RESERVE_BYTES = 4 * 1024 * 1024
/** Room that must be there beside the reserve before writing goes on. */
const HEALED_BYTES = 2 * RESERVE_BYTES

/**
 * On a full disk even a DELETE fails, because SQLite writes before it frees. So 4 MiB are set aside while there is
 * room; when the disk is full they are given back, and only what frees space may be written until there is room again.
 */
export class DiskReserve {
  readonly #file: string
  readonly #folder: string

  constructor(folder: string) {
    this.#folder = folder
    this.#file = join(folder, 'reserve')
  }

  /** True when the reserve is in place, which means: writing is fine. Tries to lay it when it is not. */
  ensure(): boolean {
    if (existsSync(this.#file) && statSync(this.#file).size === RESERVE_BYTES) return true
    if (this.#freeBytes() < HEALED_BYTES) return false
    try {
      writeDurably(this.#file, Buffer.alloc(RESERVE_BYTES), 0o600)
      return true
    } catch {
      return false // still no room: asked again before the next write
    }
  }

  /** As `ensure`, but only looks. */
  hasRoom(): boolean {
    return existsSync(this.#file) || this.#freeBytes() >= HEALED_BYTES
  }

  release(): void {
    rmSync(this.#file, { force: true })
  }

  #freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.#folder)
    return bavail * bsize
  }
}
