import { AppError } from '../../kernel/errors.ts'
import type { NewBlock } from './block.ts'
import { BlockWriter } from './block-writer.ts'

const FLUSH_ROWS = 1024
/** Blocks that wait while another program has locked the file. */
const MAX_WAITING = 20

/** Collects calls until they are written. */
export class BlockQueue {
  readonly #writer = new BlockWriter(FLUSH_ROWS)
  readonly #append: (blocks: readonly NewBlock[]) => Promise<void>
  #waiting: NewBlock[] = []

  constructor(append: (blocks: readonly NewBlock[]) => Promise<void>) {
    this.#append = append
  }

  /** Returns false when it is full and must be written before the next call. */
  readonly add = this.#writer.add.bind(this.#writer)

  /** Passes all calls to the store. While it is locked they wait for the next time; otherwise an error loses them. */
  async flush(): Promise<void> {
    const block = this.#writer.take()
    const blocks = block ? [...this.#waiting, block] : this.#waiting
    if (blocks.length === 0) return
    this.#waiting = []
    try {
      await this.#append(blocks)
    } catch (error) {
      if (!(error instanceof AppError) || error.code !== 'store_busy') throw error
      this.#waiting = [...blocks, ...this.#waiting]
      if (this.#waiting.splice(0, this.#waiting.length - MAX_WAITING).length > 0) throw error
    }
  }
}
