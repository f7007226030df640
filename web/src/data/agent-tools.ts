import { useQuery } from '@tanstack/react-query'
import { type Agent, api } from './api.ts'
import { queryClient } from './query-client.ts'
import { useSession } from './session.ts'

/** What an agent may use at the gateway. A change applies at once and writes no file. */

const LIST = ['agents', 'all']

/** Null: all servers. The grid moves at once, and returns if the service refuses. */
export async function chooseServers(agent_type: string, servers: readonly string[] | null): Promise<void> {
  await queryClient.cancelQueries({ queryKey: LIST })
  const before = queryClient.getQueryData(LIST)
  queryClient.setQueryData(
    LIST,
    (list: { items: Agent[] } | undefined) =>
      list && {
        ...list,
        items: list.items.map((agent) =>
          agent.agent_type === agent_type ? { ...agent, gateway_servers: servers && [...servers] } : agent,
        ),
      },
  )
  try {
    const body = { servers: servers && [...servers] }
    await api().put('/api/agents/{agent_type}/tools', { path: { agent_type }, body })
  } catch (error) {
    queryClient.setQueryData(LIST, before)
    throw error
  } finally {
    await queryClient.invalidateQueries({ queryKey: ['agents'] })
  }
}

export function useAgentTools(agent_type: string) {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['agents', 'tools', agent_type],
    enabled: mayChange,
    queryFn: () => api().get('/api/agents/{agent_type}/tools', { path: { agent_type } }),
  })
}

/** Only these tools of the server; null means all. The choices for other servers stay. */
export async function chooseTools(
  agent_type: string,
  server_id: string,
  names: readonly string[] | null,
): Promise<void> {
  const path = { agent_type }
  const { tools } = await api().get('/api/agents/{agent_type}/tools', { path })
  const body = { tools: { ...tools, [server_id]: names && [...names] } }
  await api().put('/api/agents/{agent_type}/tools', { path, body })
  await queryClient.invalidateQueries({ queryKey: ['agents'] })
}

export function usePresets() {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['agents', 'presets'],
    enabled: mayChange,
    queryFn: () => api().get('/api/presets'),
    select: ({ items }) => items,
  })
}

export async function savePreset(name: string, servers: readonly string[]): Promise<void> {
  await api().put('/api/presets/{name}', { path: { name }, body: { servers: [...servers] } })
  await queryClient.invalidateQueries({ queryKey: ['agents', 'presets'] })
}
