import { useQuery } from '@tanstack/react-query'
import { type Agent, api } from './api.ts'
import { atOnce } from './at-once.ts'
import { queryClient } from './query-client.ts'
import { useSession } from './session.ts'

/** What an agent may use at the gateway. A change applies at once and writes no file. */

const LIST = ['agents', 'all']
const toolsKey = (agent_type: string) => ['agents', 'tools', agent_type]
type AgentTools = Awaited<ReturnType<typeof readTools>>
const readTools = (agent_type: string) =>
  api().get('/api/agents/{agent_type}/tools', { path: { agent_type } })

/** Null: all servers. */
export function chooseServers(agent_type: string, servers: readonly string[] | null): Promise<void> {
  const body = { servers: servers && [...servers] }
  return atOnce<{ items: Agent[] }>({
    of: `agent ${agent_type}`,
    queryKey: LIST,
    update: (list) => ({
      ...list,
      items: list.items.map((agent) =>
        agent.agent_type === agent_type ? { ...agent, gateway_servers: body.servers } : agent,
      ),
    }),
    send: () => api().put('/api/agents/{agent_type}/tools', { path: { agent_type }, body }),
    outdated: ['agents'],
  })
}

export function useAgentTools(agent_type: string) {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: toolsKey(agent_type),
    enabled: mayChange,
    queryFn: () => readTools(agent_type),
  })
}

/** Only these tools of the server; null means all. The choices for other servers stay. */
export function chooseTools(
  agent_type: string,
  server_id: string,
  names: readonly string[] | null,
): Promise<void> {
  const chosen = { [server_id]: names && [...names] }
  return atOnce<AgentTools>({
    of: `agent ${agent_type}`,
    queryKey: toolsKey(agent_type),
    update: (data) => ({ ...data, tools: withoutNull({ ...data.tools, ...chosen }) }),
    send: async () => {
      const { tools } = await readTools(agent_type)
      const body = { tools: { ...tools, ...chosen } }
      await api().put('/api/agents/{agent_type}/tools', { path: { agent_type }, body })
    },
    outdated: ['agents'],
  })
}

const withoutNull = (tools: Readonly<Record<string, string[] | null>>): AgentTools['tools'] =>
  Object.fromEntries(Object.entries(tools).flatMap(([id, names]) => (names ? [[id, names]] : [])))

export function usePresets() {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['agents', 'presets'],
    enabled: mayChange,
    queryFn: () => api().get('/api/presets'),
    select: ({ items }) => items,
  })
}

/** `agent_type`: an agent that is connected, whose choice of tools is part of the preset. */
export async function savePreset(
  name: string,
  servers: readonly string[],
  agent_type: string | undefined,
): Promise<void> {
  const { tools } = agent_type === undefined ? { tools: {} } : await readTools(agent_type)
  const body = { servers: [...servers], tools }
  await api().put('/api/presets/{name}', { path: { name }, body })
  await queryClient.invalidateQueries({ queryKey: ['agents', 'presets'] })
}

/** What the agent would see with the preset. */
export function usePresetPreview(agent_type: string, preset: string) {
  return useQuery({
    queryKey: ['agents', 'preset', agent_type, preset],
    queryFn: () => apply(agent_type, preset, true),
    retry: false,
  })
}

export async function applyPreset(agent_type: string, preset: string): Promise<void> {
  await apply(agent_type, preset, false)
  await queryClient.invalidateQueries({ queryKey: ['agents'] })
}

const apply = (agent_type: string, preset: string, dry_run: boolean) =>
  api().post('/api/agents/{agent_type}/apply', { path: { agent_type }, body: { preset, dry_run } })
