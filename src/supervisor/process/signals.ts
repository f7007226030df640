import { isStillThere, type ProcessFacts, processesMarked, readProcess } from './process-table.ts'

/** A group of processes that we started: its leader's pid is its name. */
export interface Group {
  readonly leader: number
  /** Of the leader, as the process table told at its start; undefined where there is no table. */
  readonly startedAt: number | undefined
}

export function groupOf(leader: number): Group {
  return { leader, startedAt: readProcess(leader)?.startedAt }
}

/**
 * Signals everybody in the group. A leader that is gone leaves its number to the group as long as the group has
 * members; a leader with another start time is somebody else, and then the group was empty.
 */
export function signalGroup({ leader, startedAt }: Group, signal: NodeJS.Signals): void {
  const now = readProcess(leader)
  if (now && startedAt !== undefined && now.startedAt !== startedAt) return
  try {
    process.kill(-leader, signal)
  } catch (error) {
    if (!(error instanceof Error) || !('code' in error) || error.code !== 'ESRCH') throw error // ESRCH: nobody is left
  }
}

/** Ends every process that carries the mark, wherever it has moved to, and says how many there were. */
export function sweep(mark: string): number {
  const ended = new Set<number>()
  // A process may fork between being found and being ended, so look until nobody new is there.
  for (let round = 0; round < 10; round += 1) {
    const found = processesMarked(mark).filter(({ pid }) => pid !== process.pid)
    if (found.length === 0) break
    for (const facts of found) {
      endOne(facts)
      ended.add(facts.pid)
    }
  }
  return ended.size
}

function endOne(facts: ProcessFacts): void {
  if (!isStillThere(facts)) return
  try {
    process.kill(facts.pid, 'SIGKILL')
  } catch {
    // it ended by itself between the look and the signal
  }
}
