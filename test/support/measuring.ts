import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'vitest'
import { processesMarked, readProcess } from '../../src/supervisor/process/process-table.ts'
import type { openService } from './service-process.ts'

type Service = Awaited<ReturnType<typeof openService>>

interface Sample {
  readonly ask: () => Promise<{ readonly status: number }>
  readonly everyMs: number
}

/** Sends requests while the work runs. Returns the milliseconds of each response, by request. */
export async function sampling(work: Promise<unknown>, samples: readonly Sample[]): Promise<number[][]> {
  let open = true
  const ended = work.finally(() => {
    open = false
  })
  const loops = samples.map(async ({ ask, everyMs }) => {
    const all: number[] = []
    while (open) {
      const startedAt = performance.now()
      expect((await ask()).status).toBe(200)
      all.push(performance.now() - startedAt)
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

/** Returns a function that gives the CPU share used since then by processes other than the service, its servers and the test. */
export function watchOthers(service: Service): () => number {
  const [ours, all, startedAt] = [ownTicks(service), busyTicks(), performance.now()]
  return () => {
    const others = busyTicks() - all - (ownTicks(service) - ours)
    return others / (((performance.now() - startedAt) / 1000) * TICKS_PER_S * availableParallelism())
  }
}

const TICKS_PER_S = 100

function ownTicks({ child, mark }: Service): number {
  const alone = [child.pid ?? 0, process.pid].map((pid) => readProcess(pid)?.ticks ?? 0)
  return [...alone, ...processesMarked(mark).map(({ ticks }) => ticks)].reduce((sum, ticks) => sum + ticks, 0)
}

/** User, nice, system, interrupt and steal time; neither idle nor I/O wait. */
function busyTicks(): number {
  const [, user = 0, nice = 0, system = 0, , , irq = 0, soft = 0, stolen = 0] =
    readFileSync('/proc/stat', 'utf8').split('\n', 1)[0]?.split(/\s+/).map(Number) ?? []
  return user + nice + system + irq + soft + stolen
}
