import type { AgentSummary } from '../agents/find-agent.ts'
import { agentsIn, agentsOf } from '../agents/find-agent.ts'
import type { Given } from '../run/command-context.ts'
import { findNamed } from '../run/find-named.ts'
import type { Api, Schemas } from '../run/service-client.ts'

export type ImportItem = Schemas['AgentImportReport']['items'][number]
export type FileChange = Schemas['AgentChangeReport']

/** What `init` is going to do. */
export interface Choice {
  /** The names of servers to import. Undefined: all that were found. */
  readonly names: readonly string[] | undefined
  readonly moveSecrets: boolean
  readonly agents: readonly string[]
}

/** What `import` would do: all servers in the files of agents. */
export const importable = async (api: Api): Promise<ImportItem[]> =>
  (await api.post('/api/agents/import', { body: { dry_run: true } })).items

/** `--import github,slack`: undefined means all. */
export function namesIn(
  items: readonly ImportItem[],
  list: string | undefined,
): readonly string[] | undefined {
  if (list === undefined || list === 'all') return undefined
  if (list === 'none') return []
  const named = items.map(({ name }) => ({ id: name, name }))
  return wordsOf(list).map((word) => findNamed(named, word, 'server').name)
}

/** `--connect cursor,codex` */
export const agentTypesIn = (agents: readonly AgentSummary[], list: string | undefined): readonly string[] =>
  list === undefined || list === 'none' ? [] : agentsIn(agents, list).map(({ agent_type }) => agent_type)

/** What the flags say. What they do not say is not done, except that all servers are imported. */
export async function choiceOfFlags(api: Api, given: Given): Promise<Choice> {
  const list = given.flag('import')
  const isListed = list !== undefined && list !== 'all' && list !== 'none'
  return {
    names: namesIn(isListed ? await importable(api) : [], list),
    moveSecrets: given.is('move-secrets'),
    agents: agentTypesIn(await agentsOf(api), given.flag('connect')),
  }
}

/** Imports the chosen servers, or says what an import would do. */
export async function importServers(api: Api, { names, moveSecrets }: Choice, dry_run: boolean) {
  if (names?.length === 0) return []
  const body = { dry_run, move_secrets: moveSecrets, ...(names && { names: [...names] }) }
  return (await api.post('/api/agents/import', { body })).items
}

/** Each agent gets one entry, and its own entries of servers that the gateway offers are kept by Toolroom. */
export async function connectAgents(api: Api, { agents }: Choice, dry_run: boolean): Promise<FileChange[]> {
  const reports: FileChange[] = []
  for (const agent_type of agents)
    reports.push(
      await api.post('/api/agents/{agent_type}/connect', {
        path: { agent_type },
        body: { take_over: true, dry_run },
      }),
    )
  return reports
}

export const wordsOf = (list: string): string[] => list.split(/[\s,]+/).filter((word) => word !== '')
