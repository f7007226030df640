import { readFileSync } from 'node:fs'
import type { Orphan } from '../../kernel/orphan.ts'
import { maskArgs } from '../../kernel/secrets/secrets.ts'
import {
  commandLine,
  isInContainer,
  isMarked,
  isStillThere,
  listProcesses,
  PAGE_BYTES,
  type ProcessFacts,
  standardInput,
  TICKS_PER_S,
  userId,
} from '../process/process-table.ts'
import { looksLikeMcp } from './looks-like-mcp.ts'

export interface CensusOptions {
  /** The mark of our own processes: `NAME=value` or the start of it. */
  readonly mark: string
}

/** All MCP servers on this computer without an agent. Empty on systems without /proc. */
export function findOrphans({ mark }: CensusOptions): Orphan[] {
  return census(mark).map(({ orphan }) => orphan)
}

export interface Family {
  readonly orphan: Orphan
  /** The root, then all its descendants. */
  readonly tree: readonly ProcessFacts[]
}

/** Cheap checks come first, so that only a few processes are read in full. */
export function census(mark: string): Family[] {
  const processes = listProcesses().filter(({ zombie }) => !zombie)
  const table = new Map(processes.map((facts) => [facts.pid, facts]))
  const children = childrenIn(processes)
  return processes
    .filter((facts) => hasLostParent(facts, table.get(facts.parent)) && isStdioServer(facts))
    .map((root) => ({ root, tree: withDescendants([root], children) }))
    .filter(({ tree }) => !tree.some(({ pid }) => isOurs(pid, mark)))
    .map(({ root, tree }) => ({ root, tree, orphan: describe(root, tree) }))
    .filter(({ root }) => isStillThere(root)) // otherwise its pid may have been reused while it was read
}

/** This process, or a process of this or another Toolroom. */
const isOurs = (pid: number, mark: string): boolean =>
  pid === process.pid || isMarked(pid, mark, 'TOOLROOM_CHILD=') === true

/** Programs that adopt processes, besides pid 1. */
const ADOPTERS = ['systemd', 'init', 'tini', 'dumb-init', 'docker-init']

/** In a container, pid 1 may be the agent: processes it started are in its group, processes it adopted are not. */
function hasLostParent({ group }: ProcessFacts, parent: ProcessFacts | undefined): boolean {
  if (!parent || parent.group === group) return false
  return parent.pid === 1 || ADOPTERS.includes(parent.name)
}

function isStdioServer({ pid }: ProcessFacts): boolean {
  if (!looksLikeMcp(commandLine(pid))) return false
  if (!/^(?:pipe|socket):/.test(standardInput(pid) ?? '')) return false
  return isMarked(pid, startedBySystemd(pid)) === false && !isInContainer(pid) // in a container, init is a normal parent
}

/** A systemd unit has its own pid in this variable. An adopted process has another one, or none. */
const startedBySystemd = (pid: number): string => `SYSTEMD_EXEC_PID=${pid}\0`

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

const MAX_COMMAND = 500

function describe(root: ProcessFacts, tree: readonly ProcessFacts[]): Orphan {
  return {
    id: `${root.pid}-${root.startedAt}`,
    pid: root.pid,
    command: maskArgs(commandLine(root.pid)).join(' ').slice(0, MAX_COMMAND),
    owner: nameOf(userId(root.pid) ?? ''),
    age_s: Math.max(0, Math.round(uptimeS() - root.startedAt / TICKS_PER_S)),
    rss_bytes: tree.reduce((sum, { pages }) => sum + pages * PAGE_BYTES, 0),
    processes: tree.length,
  }
}

const uptimeS = (): number => Number(readFileSync('/proc/uptime', 'utf8').split(' ')[0])

function nameOf(user: string): string {
  try {
    const lines = readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
    return lines.find(([, , uid]) => uid === user)?.[0] ?? user
  } catch {
    return user // no /etc/passwd
  }
}
