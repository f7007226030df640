import { setTimeout as sleep } from 'node:timers/promises'
import { isStillThere, type KnownProcess, type ProcessTable } from '../process-table.ts'

export const errnoOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

export type Kill = (pid: number, signal: NodeJS.Signals) => void

/** How one Unix system signals processes. */
export interface SignalRules {
  readonly table: ProcessTable
  readonly kill: Kill
  /** The errors of a signal to a group without living members. */
  readonly emptyGroup: readonly string[]
}

/** Signals processes only while they are the ones that Toolroom knows: a pid is reused. */
export class Signals {
  readonly #rules: SignalRules

  constructor(rules: SignalRules) {
    this.#rules = rules
  }

  /**
   * Signals all processes of the group. The number of a group is not reused while the group has members, even if its
   * leader has ended. A leader with another start time is another process, which means that the group is empty.
   */
  toGroup(group: GroupId, signal: NodeJS.Signals): void {
    if (!this.isSameLeader(group)) return
    const { kill, emptyGroup } = this.#rules
    try {
      kill(-group.leader, signal)
    } catch (error) {
      if (!emptyGroup.includes(String(errnoOf(error)))) throw error
    }
  }

  /** False if the pid of the leader belongs to another process now. */
  isSameLeader({ leader, startedAt }: GroupId): boolean {
    const now = this.#rules.table.read(leader)
    return !now || startedAt === undefined || now.startedAt === startedAt
  }

  /** SIGTERM. A stopped process handles it only after SIGCONT. */
  ask(known: KnownProcess): void {
    this.#toProcess(known, 'SIGTERM')
    this.#toProcess(known, 'SIGCONT')
  }

  end(known: KnownProcess): void {
    this.#toProcess(known, 'SIGKILL')
  }

  /** Only if it still is the same process. */
  #toProcess(known: KnownProcess, signal: NodeJS.Signals): void {
    const { table, kill } = this.#rules
    if (!isStillThere(table, known)) return
    try {
      kill(known.pid, signal)
    } catch {
      // it has ended in the meantime
    }
  }
}

/** Two seconds with the pauses. Only a process that waits for a broken disk or network lives longer. */
export const MAX_ROUNDS = 26
/** For processes that were killed to end: 1 ms, 2, 4, and at most 100. None while there are new ones. */
export const pauseAfter = (round: number): Promise<void> => sleep(Math.min(2 ** round, 100))

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
    // A process may fork before it is killed, so this repeats until no more are found. The killed ones end meanwhile.
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const marked = await this.#table.marked(...marks).catch(() => []) // ps has failed
      const found = marked.filter(({ pid }) => pid !== process.pid)
      if (found.length === 0) break
      for (const facts of found) this.#signals.end(facts)
      if (found.every(({ pid }) => ended.has(pid))) await pauseAfter(round)
      for (const { pid } of found) ended.add(pid)
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

/** Identifies a process group of Unix that Toolroom has started. */
export interface GroupId {
  /** The pid of its first process, which is also its number. */
  readonly leader: number
  /** Start time of the leader; undefined if it ended before it was read. */
  readonly startedAt: number | undefined
}
