import type { Resources } from '../../kernel/server-state.ts'
import { PAGE_BYTES, readProcess, TICKS_PER_S } from './process-table.ts'
import type { KnownProcess } from './reaper.ts'

export const SAMPLE_EVERY_MS = 2000
/** For a server that does nothing. */
const LONGEST_PAUSE_MS = 16_000

export interface Sampled {
  readonly id: string
  /** The pid of its process. */
  readonly leader: number
  /** The number of its calls so far. */
  readonly calls: number
}

/** The last sample of a server. */
interface Sample {
  readonly leader: number
  readonly calls: number
  readonly at: number
  readonly pauseMs: number
  /** CPU time used until then, by process. */
  readonly ticks: ReadonlyMap<number, number>
  readonly pages: number
}

/**
 * Samples the CPU and memory of servers, with all their descendants. To be called every `SAMPLE_EVERY_MS`. A server that
 * neither gets calls nor uses CPU or more memory is read less and less often, because each reading costs CPU time itself.
 */
export class ResourceSampler {
  readonly #processesOf: (leader: number) => Iterable<KnownProcess>
  readonly #clock: () => number
  #samples: ReadonlyMap<string, Sample> = new Map()

  constructor(processesOf: (leader: number) => Iterable<KnownProcess>, clock: () => number) {
    this.#processesOf = processesOf
    this.#clock = clock
  }

  /** The resources of the servers that were read: with `isWatched`, of all. */
  sample(servers: Iterable<Sampled>, isWatched = true): Map<string, Resources> {
    const now = this.#clock()
    const samples = new Map<string, Sample>()
    const resources = new Map<string, Resources>()
    for (const server of servers) {
      const known = this.#samples.get(server.id)
      const last = known?.leader === server.leader ? known : undefined
      if (last && !isWatched && last.calls === server.calls && !isDue(last, now)) {
        samples.set(server.id, last)
        continue
      }
      const read = this.#read(server, last, now)
      samples.set(server.id, read.sample)
      resources.set(server.id, read.resources)
    }
    this.#samples = samples
    return resources
  }

  #read({ leader, calls }: Sampled, last: Sample | undefined, at: number) {
    const ticks = new Map<number, number>()
    let [pages, used, processes] = [0, 0, 0]
    for (const { pid, startedAt } of this.#processesOf(leader)) {
      const facts = readProcess(pid)
      if (facts?.startedAt !== startedAt) continue
      ticks.set(pid, facts.ticks)
      // Counted per process: the end of a process must not decrease the sum.
      if (last) used += facts.ticks - (last.ticks.get(pid) ?? 0)
      pages += facts.pages
      processes += facts.zombie ? 0 : 1 // a zombie counts only for its last CPU time
    }
    const isQuiet = last && used === 0 && pages === last.pages && processes === last.ticks.size
    const pauseMs = isQuiet ? Math.min(last.pauseMs * 2, LONGEST_PAUSE_MS) : SAMPLE_EVERY_MS
    const seconds = last ? (at - last.at) / 1000 : 0
    const cpu = seconds > 0 ? (Math.max(0, used) / TICKS_PER_S / seconds) * 100 : 0
    return {
      sample: { leader, calls, at, pauseMs, ticks, pages },
      resources: { cpu_pct: Math.round(cpu * 10) / 10, rss_bytes: pages * PAGE_BYTES, processes },
    }
  }
}

/** Timers are not exact, so half an interval is as good as a whole one. */
const isDue = ({ at, pauseMs }: Sample, now: number): boolean => now - at > pauseMs - SAMPLE_EVERY_MS / 2
