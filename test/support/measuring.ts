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

export interface Thread {
  readonly of: 'test' | 'service' | 'other'
  readonly cpuMs: number
  /** Ready to run, but without a CPU. */
  readonly waitedMs: number
}

/**
 * The counters of this process, and of a service with its tool servers. Systems without /proc have none; time is then
 * wall-clock time.
 */
export function moment(...services: readonly (number | undefined)[]): Moment {
  const threads = new Map<string, Thread>()
  const add = (pid: number | string, thread: string, of: Thread['of']) => {
    const [cpu = 0, waited = 0] = readOr(`/proc/${pid}/task/${thread}/schedstat`).split(' ').map(Number)
    threads.set(`${pid}/${thread}`, { of, cpuMs: cpu / 1e6, waitedMs: waited / 1e6 })
  }
  for (const pid of new Set([process.pid, ...services])) {
    if (pid === undefined) continue
    const main = pid === process.pid ? 'test' : 'service'
    for (const thread of namesIn(`/proc/${pid}/task`))
      add(pid, thread, thread === String(pid) ? main : 'other')
  }
  for (const pid of services)
    for (const child of readOr(`/proc/${pid}/task/${pid}/children`).split(' '))
      if (child !== '') add(child, child, 'other')
  return { at: performance.now(), threads }
}

/**
 * The milliseconds that our own code took between two moments. A request passes from the main thread of the test to that of
 * the service and at most one other thread or tool server, one after the other, so their waits are left out. Those of
 * further threads, which ran beside them, are not. The work of a main thread counts in any case, except while this process
 * could not receive the response.
 */
export function ownMs(from: Moment, to: Moment): number {
  const changed = [...to.threads].map(([id, { of, cpuMs, waitedMs }]) => {
    const before = from.threads.get(id)
    return { of, cpuMs: cpuMs - (before?.cpuMs ?? 0), waitedMs: waitedMs - (before?.waitedMs ?? 0) }
  })
  const waitsOf = (kind: Thread['of']) => changed.flatMap(({ of, waitedMs }) => (of === kind ? waitedMs : []))
  const sum = (waits: readonly number[]) => Math.abs(waits.reduce((all, each) => all + each, 0))
  const waitedByTest = sum(waitsOf('test'))
  const waited = waitedByTest + sum(waitsOf('service')) + Math.max(0, ...waitsOf('other'))
  const wallMs = Math.abs(to.at - from.at)
  const work = changed.flatMap(({ of, cpuMs }) => (of === 'other' ? [] : cpuMs))
  const received = wallMs - waitedByTest
  return Math.max(0, Math.min(Math.max(0, ...work), received), wallMs - waited)
}

/** Returns a function that gives the milliseconds of our own code since now. */
export function stopwatch(...services: readonly (number | undefined)[]): () => number {
  const from = moment(...services)
  return () => ownMs(from, moment(...services))
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

/** The same of the threads that it has now, which the kernel counts in nanoseconds here. */
export const exactCpuMs = (pid: number | undefined): number =>
  namesIn(`/proc/${pid}/task`)
    .map((thread) => Number(readOr(`/proc/${pid}/task/${thread}/schedstat`).split(' ')[0]) / 1e6)
    .reduce((sum, ms) => sum + ms, 0)

interface Sample {
  readonly ask: () => Promise<{ readonly status: number }>
  readonly everyMs: number
}

/** Sends requests while the work runs. Returns the milliseconds of our own code for each response, by request. */
export async function sampling(
  work: Promise<unknown>,
  samples: readonly Sample[],
  service?: number,
): Promise<number[][]> {
  let open = true
  const ended = work.finally(() => {
    open = false
  })
  const loops = samples.map(async ({ ask, everyMs }) => {
    const all: number[] = []
    while (open) {
      const spent = stopwatch(service)
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

/** CPU time of this process, of the run out of three with the least garbage collection. */
export async function leastCpuMs(work: () => unknown): Promise<number> {
  const tries: number[] = []
  for (let n = 0; n < 3; n += 1) {
    const before = process.cpuUsage()
    await work()
    const { user, system } = process.cpuUsage(before)
    tries.push((user + system) / 1000)
  }
  return Math.min(...tries)
}
