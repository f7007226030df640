import { isStillThere, type KnownProcess, type ProcessFacts, type ProcessTable } from '../process-table.ts'
import type { ReaperLink } from './reaper.ts'
import { type GroupId, MAX_ROUNDS, pauseAfter, type Signals } from './signals.ts'

/** A process that Toolroom has started, with its descendants. */
interface Family {
  readonly group: GroupId
  readonly processes: Map<number, KnownProcess>
}

/** After a start and after a handshake. Many at the same time share a reading. The pauses then double up to the longest. */
const SOON_MS = 100
const LONGEST_PAUSE_MS = 2000
const MAX_ANCESTORS = 64

interface Parts {
  readonly table: ProcessTable
  readonly signals: Signals
  readonly reaper: Omit<ReaperLink, 'close'>
}

/**
 * The processes that Toolroom has started and all their descendants, as of the last reading of the process table. A
 * process belongs to a group by its session or its ancestors. Once found, it is known by its pid and start time for its
 * whole life, whatever session, parent and environment it gets. A process that has left its session and lost its parent
 * before a reading is not found.
 */
export class OwnProcesses {
  readonly #parts: Parts
  /** By the pid of the leader. */
  readonly #families = new Map<number, Family>()
  /** By the pid of each process. */
  readonly #familyOf = new Map<number, Family>()
  /** Processes that are not descendants of Toolroom: most. They are not read again. */
  #others: ReadonlySet<number> = new Set()
  #newestPid: string | undefined
  #timer: NodeJS.Timeout | undefined
  #dueAt = 0
  #pauseMs = SOON_MS

  constructor(parts: Parts) {
    this.#parts = parts
  }

  /** To be called as soon as the process exists. */
  watch(group: GroupId): void {
    const { leader, startedAt } = group
    this.#parts.reaper.watch(group)
    const family: Family = { group, processes: new Map() }
    this.#families.set(leader, family)
    if (startedAt === undefined) return // it has ended already
    family.processes.set(leader, { pid: leader, startedAt })
    this.#familyOf.set(leader, family)
    this.findSoon()
  }

  findSoon(): void {
    this.#pauseMs = SOON_MS
    this.#schedule()
  }

  /** The leader and all known descendants. */
  of(leader: number): Iterable<KnownProcess> {
    return this.#families.get(leader)?.processes.values() ?? []
  }

  /** Kills what is left of a group, with the processes that left it, and forgets it. */
  async end(group: GroupId): Promise<void> {
    const { table, signals } = this.#parts
    const family = this.#families.get(group.leader)
    if (!family) return
    // A process may fork before it is killed, and on a busy computer it ends a moment after it was killed.
    const killed = new Set<KnownProcess>()
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      await this.find()
      const left = [...family.processes.values()].filter((each) => isStillThere(table, each))
      if (left.length === 0) break
      for (const each of left) signals.end(each)
      if (left.every((each) => killed.has(each))) await pauseAfter(round)
      for (const each of left) killed.add(each)
    }
    for (const each of family.processes.values()) this.#forget(each, family)
    this.#families.delete(group.leader)
    this.#parts.reaper.forget(group)
  }

  /** Reads the processes that are new since the last reading, which may be this old. Without a reading nothing is new. */
  async find(maxAgeMs = 0): Promise<void> {
    const { table } = this.#parts
    try {
      await table.refresh(maxAgeMs)
    } catch {
      return // ps has failed
    }
    const newest = table.newest()
    if (newest !== undefined && newest === this.#newestPid) return
    this.#newestPid = newest
    const pids = table.pids()
    const fresh = new Map<number, ProcessFacts>()
    for (const pid of pids) {
      const facts = this.#others.has(pid) || this.#familyOf.has(pid) ? undefined : table.read(pid)
      if (facts) fresh.set(pid, facts)
    }
    const unassigned = new Set<number>()
    for (const facts of fresh.values()) {
      const family = this.#find(facts, fresh)
      if (family === 'none yet') unassigned.add(facts.pid)
      else if (family) this.#add(facts, family)
    }
    const present = new Set(pids)
    for (const [pid, family] of this.#familyOf) {
      const gone = present.has(pid) ? undefined : family.processes.get(pid)
      if (gone) this.#forget(gone, family)
    }
    this.#others = new Set(pids.filter((pid) => !this.#familyOf.has(pid) && !unassigned.has(pid)))
  }

  /** `none yet`: a child of Toolroom that is not watched yet, or a descendant of one. */
  #find(facts: ProcessFacts, fresh: ReadonlyMap<number, ProcessFacts>): Family | 'none yet' | undefined {
    let at: ProcessFacts | undefined = facts
    for (let steps = 0; at && steps < MAX_ANCESTORS; steps += 1) {
      const own = this.#families.get(at.session)
      if (own && this.#parts.signals.isSameLeader(own.group)) return own
      const parents = this.#familyOf.get(at.parent)
      const parent = parents?.processes.get(at.parent)
      if (parent && isStillThere(this.#parts.table, parent)) return parents
      if (at.parent === process.pid) return 'none yet'
      at = fresh.get(at.parent)
    }
    return undefined
  }

  #add({ pid, startedAt }: ProcessFacts, family: Family): void {
    family.processes.set(pid, { pid, startedAt })
    this.#familyOf.set(pid, family)
    this.#parts.reaper.watchProcess({ pid, startedAt })
  }

  #forget(known: KnownProcess, family: Family): void {
    family.processes.delete(known.pid)
    this.#familyOf.delete(known.pid)
    this.#parts.reaper.forgetProcess(known)
  }

  #schedule(): void {
    const dueAt = performance.now() + this.#pauseMs
    if (this.#timer && this.#dueAt <= dueAt) return
    clearTimeout(this.#timer)
    this.#dueAt = dueAt
    this.#timer = setTimeout(() => {
      this.#timer = undefined
      void this.find(this.#pauseMs / 2).then(() => {
        this.#pauseMs = Math.min(this.#pauseMs * 2, LONGEST_PAUSE_MS)
        if (this.#families.size > 0) this.#schedule()
      })
    }, this.#pauseMs).unref()
  }
}
