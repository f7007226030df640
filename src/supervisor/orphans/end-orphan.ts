import { setTimeout as sleep } from 'node:timers/promises'
import type { OrphanEnd } from '../../kernel/orphan.ts'
import { isStillThere, listProcesses, type ProcessFacts } from '../process/process-table.ts'
import { errnoOf } from '../process/signals.ts'
import { type CensusOptions, census, childrenIn, withDescendants } from './orphans.ts'

const TERM_MS = 2000
const KILL_MS = 1000

/**
 * Ends an orphan and all its children, if it still is one. Does not wait for a process that is blocked on a device.
 */
export async function endOrphan(id: string, { mark }: CensusOptions): Promise<OrphanEnd> {
  const found = census(mark).find(({ orphan }) => orphan.id === id)
  if (!found) return { outcome: 'gone' }
  const { orphan, tree } = found
  try {
    signalAll(tree, 0) // checks permission before the first process is ended
    signalAll(tree, 'SIGTERM')
    signalAll(tree, 'SIGCONT') // a stopped process handles SIGTERM only after this
    if (!(await allGone(tree, TERM_MS))) {
      const rest = stopped(tree)
      signalAll(rest, 'SIGKILL')
      await allGone(rest, KILL_MS)
    }
  } catch (error) {
    if (errnoOf(error) === 'EPERM') return { outcome: 'not_permitted', orphan }
    throw error
  }
  return { outcome: 'ended', orphan }
}

function signalAll(tree: readonly ProcessFacts[], signal: NodeJS.Signals | 0): void {
  for (const facts of tree) {
    if (!isStillThere(facts)) continue
    try {
      process.kill(facts.pid, signal)
    } catch (error) {
      if (errnoOf(error) !== 'ESRCH') throw error // ESRCH: it has ended in the meantime
    }
  }
}

async function allGone(tree: readonly ProcessFacts[], withinMs: number): Promise<boolean> {
  const end = performance.now() + withinMs
  while (tree.some(isStillThere)) {
    if (performance.now() >= end) return false
    await sleep(25)
  }
  return true
}

/** The remaining processes and their new children, all stopped, so that they cannot start more. */
function stopped(tree: readonly ProcessFacts[]): ProcessFacts[] {
  let all = tree.filter(isStillThere)
  for (let before = -1, round = 0; before < all.length && round < 10; round += 1) {
    before = all.length
    signalAll(all, 'SIGSTOP')
    all = withDescendants(all, childrenIn(listProcesses()))
  }
  return all
}
