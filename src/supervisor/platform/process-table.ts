/** One process as the operating system describes it. */
export interface ProcessFacts {
  readonly pid: number
  /** The name of its program, which may be cut. */
  readonly name: string
  readonly parent: number
  readonly group: number
  /** The process that made the session, or the group where the system does not tell. Children inherit it. */
  readonly session: number
  /** Identifies a process together with its pid, which is reused. To be compared only: the unit differs by system. */
  readonly startedAt: number
  /** Ended, but not yet reaped by its parent. */
  readonly zombie: boolean
  /** CPU time used so far. */
  readonly cpuMs: number
  readonly rssBytes: number
}

/** A process that is certainly the same later, if both values are. */
export type KnownProcess = Pick<ProcessFacts, 'pid' | 'startedAt'>

/** What is read of only a few processes, because it costs more. */
export interface ProcessDetails {
  readonly owner: string
  readonly ageS: number
  /** The kind of its standard input: `other` also if it cannot be read. Undefined if this system does not tell. */
  readonly input: 'pipe' | 'other' | undefined
  /** Whether its parent is meant to be a service manager, as that of a systemd unit or a container. */
  readonly isManaged: boolean
}

/** How one operating system describes its processes. */
export interface ProcessTable {
  /** Whether facts are read from the system each time. Otherwise they are as old as the last refresh. */
  readonly isCurrent: boolean
  /** Makes the facts that are read next at most this old. */
  refresh(maxAgeMs?: number): Promise<void>
  /** Changes with every new process; undefined if the system does not tell. */
  newest(): string | undefined
  pids(): readonly number[]
  read(pid: number): ProcessFacts | undefined
  /** The program and its arguments. */
  commandLine(pid: number): readonly string[]
  /** All running processes whose environment can be read and has a variable that starts with one of the entries. */
  marked(...entries: readonly string[]): Promise<readonly ProcessFacts[]>
  details(facts: ProcessFacts): Promise<ProcessDetails>
  /** Whether the process that started it has ended. */
  hasLostParent(facts: ProcessFacts): boolean
}

export const allProcesses = (table: ProcessTable): ProcessFacts[] =>
  table.pids().flatMap((pid) => table.read(pid) ?? [])

/** False if the process has ended, even if its pid is in use again. */
export function isStillThere(table: ProcessTable, { pid, startedAt }: KnownProcess): boolean {
  const now = table.read(pid)
  return now !== undefined && now.startedAt === startedAt && !now.zombie
}

type Children = ReadonlyMap<number, readonly ProcessFacts[]>

export function childrenIn(processes: readonly ProcessFacts[]): Children {
  const children = new Map<number, ProcessFacts[]>()
  for (const facts of processes) {
    const siblings = children.get(facts.parent)
    if (siblings) siblings.push(facts)
    else children.set(facts.parent, [facts])
  }
  return children
}

export function withDescendants(roots: readonly ProcessFacts[], children: Children): ProcessFacts[] {
  const tree = new Map(roots.map((facts) => [facts.pid, facts]))
  // Iterating a map includes the entries that are added meanwhile.
  for (const pid of tree.keys()) for (const child of children.get(pid) ?? []) tree.set(child.pid, child)
  return [...tree.values()]
}

/** Programs of Unix that adopt processes whose parent has ended, besides pid 1. */
const ADOPTERS = ['systemd', 'init', 'tini', 'dumb-init', 'docker-init']

/** In a container, pid 1 may be the agent: processes it started are in its group, processes it adopted are not. */
export function isAdopted({ group }: ProcessFacts, parent: ProcessFacts | undefined): boolean {
  if (!parent || parent.group === group) return false
  return parent.pid === 1 || ADOPTERS.includes(parent.name)
}
