import type { Group } from '../platform.ts'
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
  toGroup(group: Group, signal: NodeJS.Signals): void {
    if (!this.isSameLeader(group)) return
    const { kill, emptyGroup } = this.#rules
    try {
      kill(-group.leader, signal)
    } catch (error) {
      if (!emptyGroup.includes(String(errnoOf(error)))) throw error
    }
  }

  /** False if the pid of the leader belongs to another process now. */
  isSameLeader({ leader, startedAt }: Group): boolean {
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
