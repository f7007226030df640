import type { Resources } from '../../kernel/server-state.ts'
import { listPids, PAGE_BYTES, type ProcessFacts, readProcess, TICKS_PER_S } from './process-table.ts'

/** A process that belongs to a server. */
interface Member {
  readonly server: string
  readonly startedAt: number
  /** CPU used until the last sample. */
  readonly ticks: number
}

/**
 * Samples the resources of servers. A process belongs to a server by its group or its ancestors, for its whole life. A
 * process that belongs to none is skipped in later samples, until another server is started: that applies to most.
 */
export class ResourceSampler {
  readonly #clock: () => number
  #leaders: ReadonlyMap<string, number> = new Map()
  #members: ReadonlyMap<number, Member> = new Map()
  #others: ReadonlySet<number> = new Set()
  #sampledAt: number | undefined

  constructor(clock: () => number) {
    this.#clock = clock
  }

  sample(leaders: ReadonlyMap<string, number>): Map<string, Resources> {
    const now = this.#clock()
    const seconds = this.#sampledAt === undefined ? 0 : (now - this.#sampledAt) / 1000
    // A process that is just being started may still have the group and the parent of Toolroom.
    if (!isWithin(leaders, this.#leaders)) this.#others = new Set()
    const pids = listPids()
    const table = new Map<number, ProcessFacts>()
    for (const pid of pids) {
      const facts = this.#others.has(pid) ? undefined : readProcess(pid)
      if (facts) table.set(pid, facts)
    }
    const owners = ownersOf(table, leaders, (facts) => this.#knownOwner(facts, leaders))
    const sums = new Map([...leaders.keys()].map((id) => [id, { ticks: 0, pages: 0, processes: 0 }]))
    const members = new Map<number, Member>()
    for (const facts of table.values()) {
      const { pid, ticks, pages, startedAt, zombie } = facts
      const server = owners.get(pid)
      const sum = server === undefined ? undefined : sums.get(server)
      if (server === undefined || !sum) continue
      // Counted per process: the end of a process must not decrease the sum.
      sum.ticks += ticks - (this.#known(facts)?.ticks ?? (seconds === 0 ? ticks : 0))
      sum.pages += pages
      sum.processes += zombie ? 0 : 1 // a zombie counts only for its last CPU time
      members.set(pid, { server, startedAt, ticks })
    }
    this.#leaders = new Map(leaders)
    this.#members = members
    this.#others = new Set(pids.filter((pid) => !members.has(pid)))
    this.#sampledAt = now
    return new Map([...sums].map(([id, sum]) => [id, resourcesOf(sum, seconds)]))
  }

  /** Compares the start time too, because pids are reused. */
  #known({ pid, startedAt }: ProcessFacts): Member | undefined {
    const member = this.#members.get(pid)
    return member?.startedAt === startedAt ? member : undefined
  }

  /** Undefined if the server has been restarted. */
  #knownOwner(facts: ProcessFacts, leaders: ReadonlyMap<string, number>): string | undefined {
    const server = this.#known(facts)?.server
    if (server === undefined || leaders.get(server) !== this.#leaders.get(server)) return undefined
    return server
  }
}

function isWithin(some: ReadonlyMap<string, number>, all: ReadonlyMap<string, number>): boolean {
  return [...some].every(([id, leader]) => all.get(id) === leader)
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
  known: (facts: ProcessFacts) => string | undefined,
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
      owner = owners.get(at.pid) ?? byLeader.get(at.pid) ?? byLeader.get(at.group) ?? known(at)
      path.push(at.pid)
    }
    if (owner !== undefined) for (const pid of path) owners.set(pid, owner)
  }
  return owners
}
