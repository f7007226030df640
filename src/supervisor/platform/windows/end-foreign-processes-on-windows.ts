import { setTimeout as sleep } from 'node:timers/promises'
import {
  allProcesses,
  childrenIn,
  type ProcessFacts,
  type ProcessTable,
  withDescendants,
} from '../process-table.ts'
import { OpenedProcess } from './opened-process.ts'
import type { WindowsApi } from './windows-api.ts'

const GONE_WITHIN_MS = 1000
const MOST_ROUNDS = 10

/**
 * Ends processes with their new children. Each is opened first and then compared with its start time, because the pid of
 * an open process is not reused. Nothing is ended if one of them may not be.
 */
export async function endForeign(
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
