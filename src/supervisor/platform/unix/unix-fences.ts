import type { AfterUs, Fenced, Fences, Launch, Marks } from '../platform.ts'
import { OwnProcesses } from './own-processes.ts'
import { type SignalRules, Signals } from './signals.ts'
import { Sweeper } from './sweep.ts'
import { UnixFenced } from './unix-fenced.ts'

export interface UnixOptions extends SignalRules {
  readonly inherited: readonly string[]
  readonly marks: Marks
  readonly reaper: AfterUs
}

/** Process groups, recorded descendants, and a mark in the environment. */
export class UnixFences implements Fences {
  readonly #options: UnixOptions
  readonly #parts: Parameters<typeof UnixFenced.start>[2]
  leftovers = 0

  constructor(options: UnixOptions) {
    const { table, reaper } = options
    const signals = new Signals(options)
    this.#options = options
    this.#parts = {
      table,
      signals,
      processes: new OwnProcesses({ table, signals, reaper }),
      sweeper: new Sweeper(table, signals),
    }
  }

  /** To be called before the first start. */
  async endLeftovers(): Promise<void> {
    this.leftovers = await this.#parts.sweeper.sweep(this.#options.marks.ofFolder)
  }

  start(launch: Launch): Promise<Fenced> {
    return UnixFenced.start(launch, this.#options.inherited, this.#parts)
  }

  async endAll(): Promise<void> {
    await this.#parts.sweeper.sweep(this.#options.marks.ofRun)
  }

  close(): Promise<void> {
    return this.#options.reaper.close()
  }
}
