import { setTimeout as sleep } from 'node:timers/promises'
import type { Platform, ProcessGroupOptions, ProcessGroups } from '../platform.ts'
import {
  allProcesses,
  childrenIn,
  type ProcessFacts,
  type ProcessTable,
  withDescendants,
} from '../process-table.ts'
import { JobObject, JobObjectGroups } from './job-objects.ts'
import { OpenedProcess } from './process-reader.ts'
import { TaskkillGroups } from './taskkill-groups.ts'
import { INHERITED } from './variables.ts'
import { loadWindowsApi, type WindowsApi } from './windows-api.ts'
import { resolveOnWindows } from './windows-programs.ts'
import { WindowsTable } from './windows-table.ts'

/** Windows, with Job Objects where koffi can be loaded. */
export function openWindows(load: () => WindowsApi = loadWindowsApi): Platform {
  try {
    return withJobs(load())
  } catch (error) {
    return withoutJobs(error instanceof Error ? error.message : String(error))
  }
}

function withJobs(api: WindowsApi): Platform {
  /** The job of this process and its descendants. Never closed: Windows would end this process. */
  let own: JobObject | undefined
  const table = new WindowsTable(api, () => own?.pids() ?? [])
  return {
    resolve: resolveOnWindows,
    inherited: INHERITED,
    loginShell: () => undefined,
    warnings: [],
    table,
    openProcessGroups: async ({ onTrouble }) => {
      own ??= jobOfThisProcess(api, onTrouble)
      return new JobObjectGroups(api, table)
    },
    endForeign: (tree) => endForeign(api, table, tree),
  }
}

function jobOfThisProcess(
  api: WindowsApi,
  onTrouble: ProcessGroupOptions['onTrouble'],
): JobObject | undefined {
  try {
    const job = new JobObject(api)
    job.addThisProcess()
    return job
  } catch (error) {
    onTrouble(`processes may be left if Toolroom is killed: ${String(error)}`)
    return undefined
  }
}

function withoutJobs(reason: string): Platform {
  const [line = ''] = reason.split('\n', 1)
  return {
    resolve: resolveOnWindows,
    inherited: INHERITED,
    loginShell: () => undefined,
    warnings: [
      `Servers are ended with taskkill, and their CPU and memory are not known, because the optional package koffi cannot be loaded: ${line.slice(0, 200)}. If Toolroom is killed, processes of its servers may be left. Install Toolroom again with its optional packages`,
    ],
    table: NO_TABLE,
    openProcessGroups: async (): Promise<ProcessGroups> => new TaskkillGroups(),
    endForeign: async () => 'not_permitted',
  }
}

const NO_TABLE: ProcessTable = {
  isCurrent: true,
  refresh: async () => {},
  newest: () => undefined,
  pids: () => [],
  read: () => undefined,
  commandLine: () => [],
  marked: async () => [],
  details: async () => ({ owner: '', ageS: 0, input: undefined, isManaged: true }),
  hasLostParent: () => false,
}

const GONE_WITHIN_MS = 1000
const MOST_ROUNDS = 10

/**
 * Ends processes with their new children. Each is opened first and then compared with its start time, because the pid of
 * an open process is not reused. Nothing is ended if one of them may not be.
 */
async function endForeign(
  api: WindowsApi,
  table: ProcessTable,
  tree: readonly ProcessFacts[],
): Promise<'ended' | 'not_permitted'> {
  let left: readonly ProcessFacts[] = tree
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    const opened = left.map((facts) => openSame(api, facts))
    try {
      if (opened.includes('not_permitted')) return 'not_permitted'
      const running = opened.filter((each) => typeof each === 'object')
      if (running.length === 0) return 'ended'
      for (const each of running) each.terminate()
      await untilGone(running)
    } finally {
      for (const each of opened) if (typeof each === 'object') each.close()
    }
    await table.refresh()
    left = withDescendants(left, childrenIn(allProcesses(table)))
  }
  return 'ended'
}

/** `gone`: it has ended, even if its pid is in use again. */
function openSame(
  api: WindowsApi,
  { pid, startedAt }: ProcessFacts,
): OpenedProcess | 'gone' | 'not_permitted' {
  const toEnd = OpenedProcess.open(api, pid, 'end')
  const opened = toEnd ?? OpenedProcess.open(api, pid)
  const isSame = opened?.isRunning === true && opened.times()?.startedAt === startedAt
  if (toEnd && isSame) return toEnd
  opened?.close()
  return isSame ? 'not_permitted' : 'gone'
}

async function untilGone(running: readonly OpenedProcess[]): Promise<void> {
  const end = performance.now() + GONE_WITHIN_MS
  while (running.some(({ isRunning }) => isRunning) && performance.now() < end) await sleep(10)
}
