import type { Readable, Writable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Exit, Launch, Marks, ProcessGroup, ProcessGroups, ProcessUsage } from '../platform.ts'
import type { ProcessTable } from '../process-table.ts'
import { spawned } from '../spawning.ts'
import { OwnProcesses } from './own-processes.ts'
import type { ReaperLink } from './reaper.ts'
import { type GroupId, type SignalRules, Signals, Sweeper } from './signals.ts'
import { type Spawned, startedOnUnix } from './started-on-unix.ts'

interface UnixOptions extends SignalRules {
  readonly inherited: readonly string[]
  readonly marks: Marks
  readonly reaper: ReaperLink
}

interface Parts {
  readonly table: ProcessTable
  readonly signals: Signals
  readonly processes: OwnProcesses
  readonly sweeper: Sweeper
}

/** Process groups, recorded descendants, and a mark in the environment. */
export class UnixProcessGroups implements ProcessGroups {
  readonly #options: UnixOptions
  readonly #parts: Parts
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

/** How old the CPU time and memory of a process may be on systems whose process table is a list. */
const USAGE_AGE_MS = 1000
const END_WITHIN_MS = 1000

/** A process and its process group. */
class UnixProcessGroup implements ProcessGroup {
  readonly pid: number
  readonly input: Writable
  readonly output: Readable
  readonly errors: Readable
  readonly ended: Promise<Exit>
  #group: GroupId
  /** Settles when its start time is known, which identifies it together with its pid. */
  readonly #identified: Promise<void>
  readonly #mark: string
  readonly #isHolder: boolean
  readonly #parts: Parts

  private constructor(child: Spawned, ended: Promise<Exit>, launch: Launch, parts: Parts) {
    this.pid = child.pid ?? 0
    this.ended = ended
    this.input = child.stdin
    this.output = child.stdout
    this.errors = child.stderr
    this.#group = { leader: this.pid, startedAt: undefined }
    this.#mark = launch.mark
    this.#isHolder = launch.holder !== undefined
    this.#parts = parts
    this.#identified = this.#identify()
  }

  static async start(launch: Launch, inherited: readonly string[], parts: Parts): Promise<UnixProcessGroup> {
    const child = startedOnUnix(launch, inherited)
    const { ended } = await spawned(child)
    return new UnixProcessGroup(child, ended, launch, parts)
  }

  /**
   * At once where the facts of processes are always current. Elsewhere the caller does not wait for them: Node discards the
   * output of a process that ends before its streams are read.
   */
  async #identify(): Promise<void> {
    const { table, processes } = this.#parts
    if (!table.isCurrent) await table.refresh().catch(() => {}) // without ps, it is known by its pid alone
    this.#group = { leader: this.pid, startedAt: table.read(this.pid)?.startedAt }
    processes.watch(this.#group)
  }

  settled(): void {
    this.#parts.processes.findSoon()
  }

  async closeInput(): Promise<void> {
    await this.#parts.processes.find() // before its children lose their parent
    this.input.end()
  }

  ask(): boolean {
    const { signals, processes, table } = this.#parts
    if (this.#isHolder) {
      for (const known of processes.of(this.pid))
        if (known.pid !== this.pid && table.read(known.pid)?.parent !== this.pid) signals.ask(known)
      return true
    }
    signals.toGroup(this.#group, 'SIGTERM')
    signals.toGroup(this.#group, 'SIGCONT') // a stopped process handles SIGTERM only after this
    return true
  }

  async end(): Promise<void> {
    const { signals, sweeper, processes } = this.#parts
    await this.#identified
    await processes.find() // before its children lose their parent
    signals.toGroup(this.#group, 'SIGKILL')
    await sweeper.sweepTogether(this.#mark)
    await Promise.race([this.ended, sleep(END_WITHIN_MS, undefined, { ref: false })])
    await processes.end(this.#group)
  }

  async usage(): Promise<ProcessUsage[]> {
    const { table, processes } = this.#parts
    await table.refresh(USAGE_AGE_MS)
    const used: ProcessUsage[] = []
    for (const { pid, startedAt } of processes.of(this.pid)) {
      const facts = table.read(pid)
      if (facts?.startedAt === startedAt) used.push(facts)
    }
    return used
  }
}
