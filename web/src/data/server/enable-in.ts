import { useMutation } from '@tanstack/react-query'
import { type Agent, api, type Schemas } from '../api.ts'
import { queryClient } from '../query-client.ts'

export type AgentChange = Schemas['AgentChangeReport']

/** An agent that uses the gateway sees a server without a change of its file. */
export const usesGateway = ({ connected_via }: Agent): boolean => connected_via === 'gateway'

/** It sees all servers, also those that are added later. */
export const followsAll = (agent: Agent): boolean => usesGateway(agent) && agent.gateway_servers === null

/** Its file needs an entry for each server. */
export const needsFile = (agent: Agent): boolean => !usesGateway(agent) || agent.keeps_names === true

/** What a write into the file of an agent would change. */
export const previewEntries = (agent: Agent, server_ids: string[]): Promise<AgentChange> =>
  put(agent, server_ids, true)

/** Writes entries for the servers into the files of the agents; lets those behind the gateway see them. */
export function useEnableIn() {
  return useMutation({
    mutationFn: async ({ agents, ids }: { agents: readonly Agent[]; ids: string[] }) => {
      for (const agent of agents) {
        if (usesGateway(agent)) await allow(agent.agent_type, ids)
        if (needsFile(agent)) await put(agent, ids, false)
      }
    },
    onSettled: () =>
      Promise.all(['agents', 'servers'].map((root) => queryClient.invalidateQueries({ queryKey: [root] }))),
  })
}

async function put(agent: Agent, server_ids: string[], dry_run: boolean): Promise<AgentChange> {
  const { agent_type } = agent
  const via = usesGateway(agent) ? 'gateway' : 'direct'
  const body = { server_ids, dry_run, mode: 'merge', via, scope: 'user', create: false } as const
  return api().put('/api/agents/{agent_type}/servers', { path: { agent_type }, body })
}

/** Null means all servers, so there is nothing to add. */
async function allow(agent_type: string, ids: string[]): Promise<void> {
  const path = { agent_type }
  const { servers } = await api().get('/api/agents/{agent_type}/tools', { path })
  if (servers === null) return
  await api().put('/api/agents/{agent_type}/tools', {
    path,
    body: { servers: [...new Set([...servers, ...ids])] },
  })
}
