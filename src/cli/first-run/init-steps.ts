import type { Api, Schemas } from '../run/service-client.ts'

export type ImportItem = Schemas['AgentImportReport']['items'][number]
export type FileChange = Schemas['AgentChangeReport']

/** What `init` is going to do. */
export interface Choice {
  /** The servers to import. Undefined: all that were found. */
  readonly items: readonly ImportItem[] | undefined
  readonly moveSecrets: boolean
  readonly agents: readonly string[]
}

/** What `import` would do: all servers in the files of agents. */
export const importable = async (api: Api): Promise<ImportItem[]> =>
  (await api.post('/api/agents/import', { body: { dry_run: true } })).items

/** Imports the chosen servers, or says what an import would do. */
export async function importServers(api: Api, { items, moveSecrets }: Choice, dry_run: boolean) {
  if (items?.length === 0) return []
  const entries = items?.flatMap(({ found_in }) => found_in)
  const body = { dry_run, move_secrets: moveSecrets, ...(entries && { entries }) }
  return (await api.post('/api/agents/import', { body })).items
}

/** Each agent gets one entry for the servers that it had. Its own entries of them are kept by Toolroom. */
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
