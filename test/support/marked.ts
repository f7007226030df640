import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { onTestFinished } from 'vitest'
import type { ReaperLink } from '../../src/supervisor/process/own-processes.ts'
import { processesMarked } from '../../src/supervisor/process/process-table.ts'
import { sweep } from '../../src/supervisor/process/signals.ts'

/** A mark for this test; all processes with it are ended after the test. */
export function ownMark(): string {
  const mark = `TOOLROOM_CHILD=test-${randomUUID()}`
  onTestFinished(() => void sweep(mark))
  return mark
}

/** For tests whose processes are ended by their mark. */
export const NO_REAPER: ReaperLink = {
  watch: () => {},
  forget: () => {},
  watchProcess: () => {},
  forgetProcess: () => {},
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
