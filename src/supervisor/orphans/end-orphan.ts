import { setTimeout as sleep } from 'node:timers/promises'
import type { OrphanEnd } from '../../kernel/orphan.ts'
import { isStillThere, listProcesses, type ProcessFacts } from '../process/process-table.ts'
import { type CensusOptions, census, childrenIn, withDescendants } from './orphans.ts'

const TERM_MS = 2000
const KILL_MS = 1000

/**
 * Ends it with everything that it started, if the census still knows it. A process that waits for a device ends when
 * the device answers; nobody waits for that here.
 */
export async function endOrphan(id: string, { mark }: CensusOptions): Promise<OrphanEnd> {
  const found = census(mark).find(({ orphan }) => orphan.id === id)
  if (!found) return { outcome: 'gone' }
  const { orphan, tree } = found
  try {
    signalAll(tree, 0) // may we? Before anybody is half ended
    signalAll(tree, 'SIGTERM')
    signalAll(tree, 'SIGCONT') // one that is stopped does not hear the first
    if (!(await allGone(tree, TERM_MS))) {
      const rest = held(tree)
      signalAll(rest, 'SIGKILL')
      await allGone(rest, KILL_MS)
    }
  } catch (error) {
    if (codeOf(error) === 'EPERM') return { outcome: 'not_permitted', orphan }
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
      if (codeOf(error) !== 'ESRCH') throw error // ESRCH: it ended between the look and the signal
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

/** Whoever is left, and whom they started meanwhile; stopped, so that nobody new comes before the end. */
function held(tree: readonly ProcessFacts[]): ProcessFacts[] {
  let all = tree.filter(isStillThere)
  for (let before = -1, round = 0; before < all.length && round < 10; round += 1) {
    before = all.length
    signalAll(all, 'SIGSTOP')
    all = withDescendants(all, childrenIn(listProcesses()))
  }
  return all
}

const codeOf = (error: unknown): unknown =>
  error instanceof Error && 'code' in error ? error.code : undefined
