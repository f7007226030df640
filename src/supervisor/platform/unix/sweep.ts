import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessTable } from '../process-table.ts'
import type { Signals } from './signals.ts'

/** A sweep reads the environment of every process on this computer. */
const SWEEP_EVERY_MS = 100

/** Kills processes by their mark, in any group or session. */
export class Sweeper {
  readonly #table: ProcessTable
  readonly #signals: Signals
  #sweptAt = Number.NEGATIVE_INFINITY
  #next: { readonly marks: string[]; readonly swept: Promise<void> } | undefined

  constructor(table: ProcessTable, signals: Signals) {
    this.#table = table
    this.#signals = signals
  }

  /** Kills all processes with one of the marks. Returns their number. */
  async sweep(...marks: readonly string[]): Promise<number> {
    const ended = new Set<number>()
    // A process may fork before it is killed, so this repeats until no more are found.
    for (let round = 0; round < 10; round += 1) {
      const marked = await this.#table.marked(...marks).catch(() => []) // ps has failed
      const found = marked.filter(({ pid }) => pid !== process.pid)
      if (found.length === 0) break
      for (const facts of found) {
        this.#signals.end(facts)
        ended.add(facts.pid)
      }
    }
    return ended.size
  }

  /** Like `sweep`. Servers that are stopped at about the same time share a sweep; the first one is at once. */
  sweepTogether(mark: string): Promise<void> {
    if (!this.#next) {
      const marks: string[] = []
      const swept = sleep(Math.max(0, this.#sweptAt + SWEEP_EVERY_MS - performance.now())).then(async () => {
        this.#next = undefined
        await this.sweep(...marks)
        this.#sweptAt = performance.now()
      })
      this.#next = { marks, swept }
    }
    this.#next.marks.push(mark)
    return this.#next.swept
  }
}
