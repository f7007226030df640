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
