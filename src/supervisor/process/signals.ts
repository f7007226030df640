import { setTimeout as sleep } from 'node:timers/promises'
import { isStillThere, type ProcessFacts, processesMarked, readProcess } from './process-table.ts'

/** A process group that Toolroom started, identified by the pid of its leader. */
export interface Group {
  readonly leader: number
  /** Start time of the leader; undefined on systems without /proc. */
  readonly startedAt: number | undefined
}

export function groupOf(leader: number): Group {
  return { leader, startedAt: readProcess(leader)?.startedAt }
}

/**
 * Signals all processes of the group. The number of a group is not reused while the group has members, even if its leader
 * has ended. A leader with another start time is another process, which means that the group is empty.
 */
export function signalGroup(group: Group, signal: NodeJS.Signals): void {
  if (!isSameLeader(group)) return
  try {
    process.kill(-group.leader, signal)
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error // ESRCH: the group is empty
  }
}

/** False if the pid of the leader belongs to another process now. */
export function isSameLeader({ leader, startedAt }: Group): boolean {
  const now = readProcess(leader)
  return !now || startedAt === undefined || now.startedAt === startedAt
}

export const errnoOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined

/** Kills all processes with one of the marks, in any group or session. Returns their number. */
export function sweep(...marks: readonly string[]): number {
  const ended = new Set<number>()
  // A process may fork before it is killed, so this repeats until no more are found.
  for (let round = 0; round < 10; round += 1) {
    const found = processesMarked(...marks).filter(({ pid }) => pid !== process.pid)
    if (found.length === 0) break
    for (const facts of found) {
      killProcess(facts)
      ended.add(facts.pid)
    }
  }
  return ended.size
}

/** A sweep reads the environment of every process on this computer. */
const SWEEP_EVERY_MS = 100
let sweptAt = Number.NEGATIVE_INFINITY
let next: { readonly marks: string[]; readonly swept: Promise<void> } | undefined

/** Like `sweep`. Servers that are stopped at about the same time share a sweep; the first one is at once. */
export function sweepTogether(mark: string): Promise<void> {
  if (!next) {
    const marks: string[] = []
    const swept = sleep(Math.max(0, sweptAt + SWEEP_EVERY_MS - performance.now())).then(() => {
      next = undefined
      sweep(...marks)
      sweptAt = performance.now()
    })
    next = { marks, swept }
  }
  next.marks.push(mark)
  return next.swept
}

/** Only if it still is the same process. */
export function killProcess(known: Pick<ProcessFacts, 'pid' | 'startedAt'>): void {
  if (!isStillThere(known)) return
  try {
    process.kill(known.pid, 'SIGKILL')
  } catch {
    // it has ended in the meantime
  }
}
