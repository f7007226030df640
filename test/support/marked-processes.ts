import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished } from 'vitest'
import type { Isolation } from '../../src/kernel/isolation-options.ts'
import { Places } from '../../src/supervisor/places/places.ts'
import { processesMarked } from '../../src/supervisor/platform/linux/proc.ts'
import type { Launch, ProcessGroup, ProcessGroups } from '../../src/supervisor/platform/platform.ts'
import { thisPlatform } from '../../src/supervisor/platform/this-platform.ts'
import type { ReaperLink } from '../../src/supervisor/platform/unix/reaper.ts'
import { Signals, Sweeper } from '../../src/supervisor/platform/unix/signals.ts'
import { INHERITED } from '../../src/supervisor/platform/unix/unix.ts'
import { UnixProcessGroups } from '../../src/supervisor/platform/unix/unix-process-groups.ts'
import { programFinder } from '../../src/supervisor/process/start-child.ts'
import { platform as darwin } from '../fixtures/darwin-on-linux.ts'

/** The code of macOS also runs on Linux: see scripts/platforms/suites.mjs. */
const tested = process.env.TOOLROOM_TEST_SYSTEM === 'darwin' ? darwin : thisPlatform
const { table } = tested
/** Only Linux shows the environment, and with it the mark, of every process. */
export const showsMarks = process.platform === 'linux' && tested === thisPlatform
const rules = {
  table,
  kill: (pid: number, signal: NodeJS.Signals) => void process.kill(pid, signal),
  emptyGroup: ['ESRCH'],
}
export const signals = new Signals(rules)
export const sweeper = new Sweeper(table, signals)

/** What tests have opened and started, by the mark, where processes cannot be found by it. */
const opened = new Map<
  string,
  { readonly groups: Promise<ProcessGroups>; readonly started: ProcessGroup[] }[]
>()

/** A mark for this test; all processes with it are ended after the test. */
export function ownMark(): string {
  const mark = `TOOLROOM_CHILD=test-${randomUUID()}`
  onTestFinished(async () => {
    if (showsMarks) await sweeper.sweep(mark)
    for (const { groups, started } of opened.get(mark) ?? []) {
      await Promise.all(started.map((group) => group.end()))
      await (await groups).close()
    }
    opened.delete(mark)
  })
  return mark
}

/** The pids of the running processes with the mark; on macOS and Windows those inside of the groups that have it. */
export async function processesOf(mark: string): Promise<number[]> {
  if (showsMarks) return processesMarked(mark).map(({ pid }) => pid)
  const group = (opened.get(mark) ?? []).flatMap(({ started }) => started)
  const used = (await Promise.all(group.map((each) => each.usage()))).flatMap((all = []) => all)
  await table.refresh() // after it, so that the name of each is known
  const pids = new Set(used.map(({ pid }) => pid)) // the next process may have the pid of the one that has just ended
  return [...pids].filter((pid) => {
    const { name = '', zombie = true } = table.read(pid) ?? {}
    return !zombie && !['', CONSOLE].includes(name.toLowerCase()) // one that is just created or ended has no name
  })
}
/** Beside each program on Windows. */
const CONSOLE = 'conhost.exe'

/** For tests whose processes are ended by their mark. */
export const NO_REAPER: ReaperLink = {
  watch: () => {},
  forget: () => {},
  watchProcess: () => {},
  forgetProcess: () => {},
  close: async () => {},
}

/** ProcessGroups without a reaper on Linux, and as the service has them on the other systems. */
export function groupsOf(
  mark: string,
  reaper: ReaperLink = NO_REAPER,
): Pick<ProcessGroups, 'start' | 'endAll'> {
  const marks = { ofFolder: mark, ofRun: mark }
  if (showsMarks) return new UnixProcessGroups({ ...rules, inherited: INHERITED, marks, reaper })
  const groups = tested.openProcessGroups({ marks, wasKilled: false, onTrouble: expect.unreachable })
  const started: ProcessGroup[] = []
  opened.set(mark, [...(opened.get(mark) ?? []), { groups, started }])
  return {
    start: async (launch) => {
      const group = await (await groups).start(launch)
      started.push(group)
      return group
    },
    endAll: async () => (await groups).endAll(),
  }
}

/** Where servers of a test run. */
export const placesOf = (groups: Pick<ProcessGroups, 'start' | 'endAll'>, folder = '/nonexistent'): Places =>
  new Places({
    groups,
    findProgram: programFinder(tested),
    marks: { ofFolder: 'test', ofRun: 'test' },
    folder,
    hidden: [],
    sandboxUser: 'nobody',
  })

export const NO_ISOLATION: Isolation = {
  isolation: 'none',
  isolation_options: { write: [], read: [], network: 'none', image: null, memory_mb: 512, pids: 100 },
}

/** Starts a program with a mark of this test. */
export async function startInGroup(
  launch: Pick<Launch, 'path' | 'args'> & Partial<Launch>,
): Promise<ProcessGroup & { readonly mark: string }> {
  const mark = launch.mark ?? ownMark()
  const group = await groupsOf(mark).start({ cwd: undefined, env: {}, ...launch, mark })
  return Object.assign(group, { mark })
}

/** The number of processes with the mark, once it is zero or the time is over. */
export const leftAfter = (mark: string, ms = 60_000): Promise<number> =>
  counted(mark, ms, (count) => count === 0)

/** Waits until that many processes have the mark. */
export const untilMarked = (mark: string, count: number, ms = 60_000): Promise<number> =>
  counted(mark, ms, (found) => found >= count)

async function counted(mark: string, ms: number, isEnough: (count: number) => boolean): Promise<number> {
  const end = performance.now() + ms
  for (;;) {
    const { length } = await processesOf(mark)
    if (isEnough(length) || performance.now() > end) return length
    await sleep(25)
  }
}
