import { setTimeout as sleep } from 'node:timers/promises'
import {
  allProcesses,
  childrenIn,
  isStillThere,
  type ProcessFacts,
  type ProcessTable,
  withDescendants,
} from '../process-table.ts'
import { errnoOf } from './signals.ts'

const TERM_MS = 2000
const KILL_MS = 1000

/** SIGTERM, then SIGKILL. A process is signalled only while it still is the same one. */
export async function endForeign(
  table: ProcessTable,
  tree: readonly ProcessFacts[],
): Promise<'ended' | 'not_permitted'> {
  try {
    await signalAll(table, tree, 0) // checks permission before the first process is ended
    await signalAll(table, tree, 'SIGTERM')
    await signalAll(table, tree, 'SIGCONT') // a stopped process handles SIGTERM only after this
    if (!(await allGone(table, tree, TERM_MS))) {
      const rest = await stopped(table, tree)
      await signalAll(table, rest, 'SIGKILL')
      await allGone(table, rest, KILL_MS)
    }
  } catch (error) {
    if (errnoOf(error) === 'EPERM') return 'not_permitted'
    throw error
  }
  return 'ended'
}

async function signalAll(
  table: ProcessTable,
  tree: readonly ProcessFacts[],
  signal: NodeJS.Signals | 0,
): Promise<void> {
  await table.refresh()
  for (const facts of tree) {
    if (!isStillThere(table, facts)) continue
    try {
      process.kill(facts.pid, signal)
    } catch (error) {
      if (errnoOf(error) !== 'ESRCH') throw error // ESRCH: it has ended in the meantime
    }
  }
}

async function allGone(
  table: ProcessTable,
  tree: readonly ProcessFacts[],
  withinMs: number,
): Promise<boolean> {
  const end = performance.now() + withinMs
  for (;;) {
    await table.refresh()
    if (!tree.some((facts) => isStillThere(table, facts))) return true
    if (performance.now() >= end) return false
    await sleep(25)
  }
}

/** The remaining processes and their new children, all stopped, so that they cannot start more. */
async function stopped(table: ProcessTable, tree: readonly ProcessFacts[]): Promise<ProcessFacts[]> {
  let all = tree.filter((facts) => isStillThere(table, facts))
  for (let before = -1, round = 0; before < all.length && round < 10; round += 1) {
    before = all.length
    await signalAll(table, all, 'SIGSTOP')
    await table.refresh()
    all = withDescendants(all, childrenIn(allProcesses(table)))
  }
  return all
}
