import { useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../api.ts'
import { namedOutgoing } from '../outgoing.ts'
import { queryClient } from '../query-client.ts'
import { useSession } from '../session.ts'

const OVER = 'toolroom.first-run-over'

/** Until it was skipped or finished in this browser, the first page of a Toolroom without servers is the first run. */
export const isFirstRun = (): boolean => localStorage.getItem(OVER) === null
export const endFirstRun = (): void => localStorage.setItem(OVER, '1')

/** How many agents, entries and servers there are: the figures of `toolroom init` and of the start. Needs the token. */
export function useScan() {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['agents', 'scan'],
    enabled: mayChange,
    queryFn: () => api().get('/api/agents/scan'),
  })
}

export type ImportItem = Schemas['AgentImportReport']['items'][number]

/** Every server in the agents' files, without changing anything. Needs the token. */
export function useImportable(agents: readonly string[] | undefined) {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['agents', 'importable', agents?.toSorted()],
    enabled: mayChange && agents?.length !== 0,
    queryFn: async () => {
      const body = { dry_run: true, ...(agents && { agents: [...agents] }) }
      return (await api().post('/api/agents/import', { body })).items
    },
  })
}

interface Choice {
  readonly agents: readonly string[]
  readonly items: readonly ImportItem[]
  readonly move_secrets: boolean
}

/** Registers the chosen servers. Starts nothing, and changes no file. */
export async function importServers({ agents, items: chosen, move_secrets }: Choice): Promise<ImportItem[]> {
  const entries = chosen.flatMap(({ found_in, digest }) => found_in.map((entry) => ({ ...entry, digest })))
  // The page lists what each chosen server gets.
  const allow_outgoing = namedOutgoing(chosen.flatMap(({ outgoing }) => outgoing))
  const body = { agents: [...agents], entries, move_secrets, allow_outgoing }
  const { items } = await api().post('/api/agents/import', { body })
  await queryClient.invalidateQueries({ queryKey: ['servers'] })
  await queryClient.invalidateQueries({ queryKey: ['agents'] })
  return items
}

/** Tool servers whose agent has ended. Needs the token. */
export function useOrphans() {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['health', 'orphans'],
    enabled: mayChange,
    queryFn: () => api().get('/api/processes/orphans'),
    select: ({ items }) => items,
  })
}
