import { AppError } from '../kernel/errors.ts'
import type { Caller } from '../kernel/wire.ts'
import { hashOf } from '../upstreams/definition-hash.ts'
import type { AgentChoice, ImportedAgent } from './transfer.schema.ts'

/** Which tools an agent sees. */
export interface AgentTools {
  readonly tool_mode: 'full' | 'search'
  readonly servers: readonly string[] | null
  readonly tools: Readonly<Record<string, readonly string[]>>
}

/** The same in a file: everything may be missing, and null stands for all tools of a server. */
interface WrittenTools extends Partial<Omit<AgentTools, 'tools'>> {
  readonly tools?: Readonly<Record<string, readonly string[] | null>>
}

export interface ChoiceDeps {
  /** Why this is not a choice of tools, or undefined. */
  problem(tools: unknown): string | undefined
  /** Undefined when nothing was chosen. */
  current(agentType: string): AgentTools | undefined
  /** Throws when there is no such agent. */
  change(agentType: string, tools: AgentTools, by: Caller): Promise<unknown>
}

interface Options {
  /** The ids of the file, and those of the same servers here. Undefined for a server that was not imported. */
  readonly idOf: (id: string) => string | undefined
  readonly update: boolean
  readonly dryRun: boolean
}

/** Applies what an agent sees. */
export async function importChoice(
  { agent_type, tools }: AgentChoice,
  deps: ChoiceDeps,
  { idOf, update, dryRun }: Options,
  by: Caller,
): Promise<Pick<ImportedAgent, 'outcome' | 'reason'>> {
  if (tools === null) return { outcome: 'unchanged', reason: null }
  const wanted = withIds(tools, idOf)
  const current = deps.current(agent_type)
  if (current && hashOf({ ...current }) === hashOf({ ...wanted }))
    return { outcome: 'unchanged', reason: null }
  if (current && !update) return { outcome: 'exists', reason: 'Its tools have been chosen here already' }
  try {
    if (!dryRun) await deps.change(agent_type, wanted, by)
    return { outcome: current ? 'updated' : 'created', reason: null }
  } catch (error) {
    if (!(error instanceof AppError) || error.status >= 500) throw error
    return { outcome: 'refused', reason: error.message }
  }
}

/** Servers that were not imported are left out, so that the agent never sees more than before. */
function withIds(
  { tool_mode = 'full', servers = null, tools = {} }: WrittenTools,
  idOf: Options['idOf'],
): AgentTools {
  const lists = Object.entries(tools).flatMap(([id, names]) => {
    const here = idOf(id)
    return here === undefined || names === null ? [] : [[here, names] as const]
  })
  return {
    tool_mode,
    servers: servers === null ? null : servers.flatMap((id) => idOf(id) ?? []),
    tools: Object.fromEntries(lists),
  }
}
