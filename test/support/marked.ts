import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { Isolation } from '../../src/kernel/server-state.ts'
import { Places } from '../../src/supervisor/places/places.ts'
import { processesMarked } from '../../src/supervisor/platform/linux/proc.ts'
import type { AfterUs, Fenced, Fences, Launch } from '../../src/supervisor/platform/platform.ts'
import { thisPlatform } from '../../src/supervisor/platform/this-platform.ts'
import { INHERITED } from '../../src/supervisor/platform/unix/inherited.ts'
import { Signals } from '../../src/supervisor/platform/unix/signals.ts'
import { Sweeper } from '../../src/supervisor/platform/unix/sweep.ts'
import { UnixFences } from '../../src/supervisor/platform/unix/unix-fences.ts'
import { programFinder } from '../../src/supervisor/process/start-child.ts'

const { table } = thisPlatform
const rules = {
  table,
  kill: (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal),
  emptyGroup: ['ESRCH'],
}
export const signals = new Signals(rules)
export const sweeper = new Sweeper(table, signals)

/** A mark for this test; all processes with it are ended after the test. */
export function ownMark(): string {
  const mark = `TOOLROOM_CHILD=test-${randomUUID()}`
  onTestFinished(async () => void (await sweeper.sweep(mark)))
  return mark
}

/** For tests whose processes are ended by their mark. */
export const NO_REAPER: AfterUs = {
  watch: () => {},
  forget: () => {},
  watchProcess: () => {},
  forgetProcess: () => {},
  close: async () => {},
}

/** Fences without a reaper. */
export const fencesOf = (mark: string, reaper: AfterUs = NO_REAPER): UnixFences =>
  new UnixFences({ ...rules, inherited: INHERITED, marks: { ofFolder: mark, ofRun: mark }, reaper })

/** Where servers of a test run. */
export const placesOf = (fences: Pick<Fences, 'start' | 'endAll'>, folder = '/nonexistent'): Places =>
  new Places({
    fences,
    findProgram: programFinder(thisPlatform),
    marks: { ofFolder: 'test', ofRun: 'test' },
    folder,
    hidden: [],
  })

export const NO_WALLS: Isolation = {
  isolation: 'none',
  isolation_options: { write: [], read: [], network: 'none', image: null, memory_mb: 512, pids: 100 },
}

/** Starts a program with a mark of this test. */
export async function startFenced(
  launch: Pick<Launch, 'path' | 'args'> & Partial<Launch>,
): Promise<Fenced & { readonly mark: string }> {
  const mark = launch.mark ?? ownMark()
  const fenced = await fencesOf(mark).start({ cwd: undefined, env: {}, ...launch, mark })
  return Object.assign(fenced, { mark })
}

/** The number of processes with the mark, once it is zero or the time is over. */
export async function leftAfter(mark: string, ms = 60_000): Promise<number> {
  const end = performance.now() + ms
  while (performance.now() < end && processesMarked(mark).length > 0) await sleep(25)
  return processesMarked(mark).length
}

/** Waits until that many processes have the mark. */
export async function untilMarked(mark: string, count: number, ms = 60_000): Promise<number> {
  const end = performance.now() + ms
  while (performance.now() < end && processesMarked(mark).length < count) await sleep(25)
  return processesMarked(mark).length
}
