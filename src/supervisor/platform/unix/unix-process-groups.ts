import type { AfterUs, Launch, Marks, ProcessGroup, ProcessGroups } from '../platform.ts'
import { OwnProcesses } from './own-processes.ts'
import { type SignalRules, Signals } from './signals.ts'
import { Sweeper } from './sweep.ts'
import { UnixProcessGroup } from './unix-process-group.ts'

export interface UnixOptions extends SignalRules {
  readonly inherited: readonly string[]
  readonly marks: Marks
  readonly reaper: AfterUs
}

/** Process groups, recorded descendants, and a mark in the environment. */
export class UnixProcessGroups implements ProcessGroups {
  readonly #options: UnixOptions
  readonly #parts: Parameters<typeof UnixProcessGroup.start>[2]
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

  start(launch: Launch): Promise<ProcessGroup> {
    return UnixProcessGroup.start(launch, this.#options.inherited, this.#parts)
  }

  async endAll(): Promise<void> {
    await this.#parts.sweeper.sweep(this.#options.marks.ofRun)
  }

  close(): Promise<void> {
    return this.#options.reaper.close()
  }
}
