import type { Orphan, OrphanEnd } from '../../kernel/orphan-process.ts'
import { maskArgs } from '../../kernel/secrets/mask-secrets.ts'
import type { Platform } from '../platform/platform.ts'
import {
  allProcesses,
  childrenIn,
  isStillThere,
  type ProcessFacts,
  type ProcessTable,
  withDescendants,
} from '../platform/process-table.ts'
import { looksLikeMcp } from './looks-like-mcp.ts'

interface CensusOptions {
  readonly table: ProcessTable
  /** The mark of our own processes: `NAME=value` or the start of it. */
  readonly mark: string
}

/** All MCP servers on this computer without an agent. */
export async function findOrphans(options: CensusOptions): Promise<Orphan[]> {
  return (await census(options)).map(({ orphan }) => orphan)
}

interface Family {
  readonly orphan: Orphan
  /** The root, then all its descendants. */
  readonly tree: readonly ProcessFacts[]
}

/** Cheap checks come first, so that only a few processes are read in full. */
async function census({ table, mark }: CensusOptions): Promise<Family[]> {
  await table.refresh()
  const processes = allProcesses(table).filter(({ zombie }) => !zombie)
  const children = childrenIn(processes)
  const trees = processes
    .filter((facts) => table.hasLostParent(facts) && looksLikeMcp(table.commandLine(facts.pid)))
    .map((root) => withDescendants([root], children))
  if (trees.length === 0) return []
  const marked = await table.marked(mark, 'TOOLROOM_CHILD=') // of this or another Toolroom
  const ours = new Set([process.pid, ...marked.map(({ pid }) => pid)])
  const foreign = trees.filter((tree) => !tree.some(({ pid }) => ours.has(pid)))
  const found = await Promise.all(foreign.map((tree) => describe(table, tree)))
  return found.flatMap((family) => family ?? [])
}

const MAX_COMMAND = 500

/** Undefined if it is not an STDIO server that has lost its agent. */
async function describe(table: ProcessTable, tree: readonly ProcessFacts[]): Promise<Family | undefined> {
  const [root] = tree
  if (!root) return undefined
  const { input, isManaged, owner, ageS } = await table.details(root)
  if (input === 'other' || isManaged) return undefined
  const orphan: Orphan = {
    id: `${root.pid}-${root.startedAt}`,
    pid: root.pid,
    command: maskArgs(table.commandLine(root.pid)).join(' ').slice(0, MAX_COMMAND),
    owner,
    age_s: ageS,
    rss_bytes: tree.reduce((sum, { rssBytes }) => sum + rssBytes, 0),
    processes: tree.length,
  }
  return isStillThere(table, root) ? { orphan, tree } : undefined // otherwise its pid may have been reused meanwhile
}

/** Ends an orphan and all its children, if it still is one. */
export async function endOrphan(
  id: string,
  { platform, mark }: { readonly platform: Platform; readonly mark: string },
): Promise<OrphanEnd> {
  const found = (await census({ table: platform.table, mark })).find(({ orphan }) => orphan.id === id)
  if (!found) return { outcome: 'gone' }
  const { orphan, tree } = found
  return { outcome: await platform.endForeign(tree), orphan }
}
