import type { Resources } from '../../kernel/server-state.ts'
import type { ProcessUsage } from '../platform/platform.ts'

export const SAMPLE_EVERY_MS = 2000
/** For a server that does nothing. */
const LONGEST_PAUSE_MS = 16_000

export interface Sampled {
  readonly id: string
  /** The pid of its process; null in a container. */
  readonly leader: number | null
  /** The number of its calls so far. */
  readonly calls: number
  readonly usage: () => Promise<readonly ProcessUsage[] | undefined>
}

/** The last sample of a server. */
interface Sample {
  readonly leader: number | null
  readonly calls: number
  readonly at: number
  readonly pauseMs: number
  /** CPU time used until then, by process. */
  readonly cpuMs: ReadonlyMap<number, number>
  readonly rssBytes: number
}

/**
 * Samples the CPU and memory of servers, with all their descendants. To be called every `SAMPLE_EVERY_MS`. A server that
 * neither gets calls nor uses CPU or more memory is read less and less often, because each reading costs CPU time itself.
 */
export class ResourceSampler {
  readonly #clock: () => number
  #samples: ReadonlyMap<string, Sample> = new Map()

  constructor(clock: () => number) {
    this.#clock = clock
  }

  /** The resources of the servers that were read: with `isWatched`, of all. Null if the system does not tell. */
  async sample(servers: Iterable<Sampled>, isWatched = true): Promise<Map<string, Resources | null>> {
    const now = this.#clock()
    const samples = new Map<string, Sample>()
    const resources = new Map<string, Resources | null>()
    const read = async (server: Sampled, last: Sample | undefined) => {
      const usage = await server.usage()
      if (!usage) return void resources.set(server.id, null)
      const { sample, used } = compare(server, usage, last, now)
      samples.set(server.id, sample)
      resources.set(server.id, used)
    }
    const reading: Promise<void>[] = []
    for (const server of servers) {
      const known = this.#samples.get(server.id)
      const last = known?.leader === server.leader ? known : undefined
      if (last && !isWatched && last.calls === server.calls && !isDue(last, now)) samples.set(server.id, last)
      else reading.push(read(server, last))
    }
    await Promise.all(reading)
    this.#samples = samples
    return resources
  }
}

function compare(
  { leader, calls }: Sampled,
  usage: readonly ProcessUsage[],
  last: Sample | undefined,
  at: number,
): { readonly sample: Sample; readonly used: Resources } {
  const cpuMs = new Map<number, number>()
  let [rssBytes, used, processes] = [0, 0, 0]
  for (const facts of usage) {
    cpuMs.set(facts.pid, facts.cpuMs)
    // Counted per process: the end of a process must not decrease the sum.
    if (last) used += facts.cpuMs - (last.cpuMs.get(facts.pid) ?? 0)
    rssBytes += facts.rssBytes
    processes += facts.zombie ? 0 : 1 // a zombie counts only for its last CPU time
  }
  const isQuiet = last && used === 0 && rssBytes === last.rssBytes && processes === last.cpuMs.size
  const pauseMs = isQuiet ? Math.min(last.pauseMs * 2, LONGEST_PAUSE_MS) : SAMPLE_EVERY_MS
  const ms = last ? at - last.at : 0
  const cpu = ms > 0 ? (Math.max(0, used) / ms) * 100 : 0
  return {
    sample: { leader, calls, at, pauseMs, cpuMs, rssBytes },
    used: { cpu_pct: Math.round(cpu * 10) / 10, rss_bytes: rssBytes, processes },
  }
}

/** Timers are not exact, so half an interval is as good as a whole one. */
const isDue = ({ at, pauseMs }: Sample, now: number): boolean => now - at > pauseMs - SAMPLE_EVERY_MS / 2
