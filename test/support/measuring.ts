import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import type { openService } from './service-process.ts'

type Service = Awaited<ReturnType<typeof openService>>

/**
 * The scheduler's counters of some processes at one moment. A test that runs on a busy machine measures with them what
 * the machine does not change: wall-clock time without the time in which our threads were ready to run and had no CPU.
 */
export interface Moment {
  readonly at: number
  readonly threads: ReadonlyMap<string, Thread>
}

interface Thread {
  readonly isMain: boolean
  readonly cpuMs: number
  /** Ready to run, but without a CPU. */
  readonly waitedMs: number
}

/** The counters of this process and of others. Systems without /proc have none; time is then wall-clock time. */
export function moment(...pids: readonly (number | undefined)[]): Moment {
  const threads = new Map<string, Thread>()
  for (const pid of new Set([process.pid, ...pids])) {
    for (const thread of namesIn(`/proc/${pid}/task`)) {
      const [cpu = 0, waited = 0] = readOr(`/proc/${pid}/task/${thread}/schedstat`).split(' ').map(Number)
      const isMain = thread === String(pid)
      threads.set(`${pid}/${thread}`, { isMain, cpuMs: cpu / 1e6, waitedMs: waited / 1e6 })
    }
  }
  return { at: performance.now(), threads }
}

/**
 * The milliseconds that our own code took between two moments. Threads that wait in parallel would hide too much, so work
 * of a main thread counts in any case, unless the main threads themselves waited.
 */
export function ownMs(from: Moment, to: Moment): number {
  const changed = [...to.threads].map(([id, { isMain, cpuMs, waitedMs }]) => {
    const before = from.threads.get(id)
    return { isMain, cpuMs: cpuMs - (before?.cpuMs ?? 0), waitedMs: waitedMs - (before?.waitedMs ?? 0) }
  })
  const main = changed.filter(({ isMain }) => isMain)
  const waited = (threads: typeof changed) => threads.reduce((sum, { waitedMs }) => sum + waitedMs, 0)
  const wallMs = Math.abs(to.at - from.at)
  const work = Math.min(Math.max(0, ...main.map(({ cpuMs }) => cpuMs)), wallMs - Math.abs(waited(main)))
  return Math.max(0, work, wallMs - Math.abs(waited(changed)))
}

/** Returns a function that gives the milliseconds of our own code since now. */
export function stopwatch(...pids: readonly (number | undefined)[]): () => number {
  const from = moment(...pids)
  return () => ownMs(from, moment(...pids))
}

/** Like `stopwatch` for a process that is going to exit: its last counters before that count. */
export function stopwatchUntilExit(pid: number | undefined): () => number {
  const from = moment(pid)
  let last = from
  const timer = setInterval(() => {
    const now = moment(pid)
    last = { at: now.at, threads: new Map([...last.threads, ...now.threads]) }
  }, 20)
  return () => {
    clearInterval(timer)
    return ownMs(from, { at: performance.now(), threads: new Map([...last.threads, ...moment().threads]) })
  }
}

/** CPU time of all threads of a process so far. */
export function cpuMs(pid: number | undefined): number {
  const stat = readOr(`/proc/${pid}/stat`)
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * MS_PER_TICK
}

const MS_PER_TICK = 10

interface Sample {
  readonly ask: () => Promise<{ readonly status: number }>
  readonly everyMs: number
}

/** Sends requests while the work runs. Returns the milliseconds of our own code for each response, by request. */
export async function sampling(
  work: Promise<unknown>,
  samples: readonly Sample[],
  ...pids: readonly (number | undefined)[]
): Promise<number[][]> {
  let open = true
  const ended = work.finally(() => {
    open = false
  })
  const loops = samples.map(async ({ ask, everyMs }) => {
    const all: number[] = []
    while (open) {
      const spent = stopwatch(...pids)
      expect((await ask()).status).toBe(200)
      all.push(spent())
      await sleep(everyMs)
    }
    return all
  })
  const [, ...all] = await Promise.all([ended, ...loops])
  return all
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.ceil((sorted.length * percent) / 100) - 1] ?? Number.POSITIVE_INFINITY
}

/** Memory of the service's own process. */
export function memoryOf({ child }: Service): { readonly nowMb: number; readonly peakMb: number } {
  const status = readFileSync(`/proc/${child.pid}/status`, 'utf8')
  const mb = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024)
  return { nowMb: mb('VmRSS'), peakMb: mb('VmHWM') }
}

/** Resets the peak memory counter. */
export const forgetPeak = ({ child }: Service): void => writeFileSync(`/proc/${child.pid}/clear_refs`, '5')

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return [] // it has just ended, or there is no /proc
  }
}

function readOr(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return '' // it has just ended, or there is no /proc
  }
}
