import type { Resources } from '../kernel/server-state.ts'
import { listProcesses, type ProcessFacts } from './process-table.ts'

const TICKS_PER_S = 100
const PAGE_BYTES = 4096

/** Reads the process table once for all servers. A process belongs to a server by its group, or by its ancestors. */
export class ResourceSampler {
  readonly #clock: () => number
  /** CPU ticks of each process at the last sample: one that ended must not make the sum go back. */
  #before = new Map<number, number>()
  #sampledAt: number | undefined

  constructor(clock: () => number) {
    this.#clock = clock
  }

  sample(leaders: ReadonlyMap<string, number>): Map<string, Resources> {
    const now = this.#clock()
    const seconds = this.#sampledAt === undefined ? 0 : (now - this.#sampledAt) / 1000
    const table = new Map(listProcesses().map((facts) => [facts.pid, facts]))
    const owners = ownersOf(table, leaders)
    const sums = new Map([...leaders.keys()].map((id) => [id, { ticks: 0, pages: 0, processes: 0 }]))
    for (const { pid, ticks, pages } of table.values()) {
      const sum = sums.get(owners.get(pid) ?? '')
      if (!sum) continue
      sum.ticks += ticks - (this.#before.get(pid) ?? (seconds === 0 ? ticks : 0))
      sum.pages += pages
      sum.processes += 1
    }
    this.#before = new Map(
      [...table.values()].filter(({ pid }) => owners.has(pid)).map(({ pid, ticks }) => [pid, ticks]),
    )
    this.#sampledAt = now
    return new Map([...sums].map(([id, sum]) => [id, resourcesOf(sum, seconds)]))
  }
}

function resourcesOf(
  { ticks, pages, processes }: { ticks: number; pages: number; processes: number },
  seconds: number,
): Resources {
  const cpu = seconds > 0 ? (Math.max(0, ticks) / TICKS_PER_S / seconds) * 100 : 0
  return { cpu_pct: Math.round(cpu * 10) / 10, rss_bytes: pages * PAGE_BYTES, processes }
}

function ownersOf(
  table: ReadonlyMap<number, ProcessFacts>,
  leaders: ReadonlyMap<string, number>,
): Map<number, string> {
  const byLeader = new Map([...leaders].map(([id, leader]) => [leader, id]))
  const owners = new Map<number, string>()
  for (const start of table.values()) {
    const path: number[] = []
    let owner: string | undefined
    for (
      let at: ProcessFacts | undefined = start;
      at && !owner && path.length < 64;
      at = table.get(at.parent)
    ) {
      owner = owners.get(at.pid) ?? byLeader.get(at.pid) ?? byLeader.get(at.group)
      path.push(at.pid)
    }
    if (owner !== undefined) for (const pid of path) owners.set(pid, owner)
  }
  return owners
}
