import { Failure } from '../run/failure.ts'
import { findNamed } from '../run/find-named.ts'
import type { Api, Schemas } from '../run/service-client.ts'

export type AgentSummary = Schemas['AgentSummary']

export const agentsOf = async (api: Api): Promise<AgentSummary[]> =>
  (await api.get('/api/agents', { query: { include: 'servers,tools' } })).items

/** The agent with this type or name, or the only one that begins with it. Those on this computer win. */
function agentIn(agents: readonly AgentSummary[], given: string): AgentSummary {
  const named = agents.map((agent) => ({ id: agent.agent_type, name: agent.name, agent }))
  const here = named.filter(({ agent }) => agent.installed)
  try {
    return findNamed(here, given, 'agent').agent
  } catch (error) {
    if (error instanceof Failure && error.exit === 'usage') throw error
    return findNamed(named, given, 'agent').agent
  }
}

export const agentNamed = async (api: Api, given: string): Promise<AgentSummary> =>
  agentIn(await agentsOf(api), given)

/** The agents of `--in cursor,codex`. `all` means those on this computer. */
export function agentsIn(agents: readonly AgentSummary[], list: string): AgentSummary[] {
  if (list === 'all') return agents.filter(({ installed }) => installed)
  const names = list.split(',').filter((name) => name.trim() !== '')
  return names.map((name) => agentIn(agents, name.trim()))
}

/** The types of the agents with these names, for commands that need nothing else of them. */
export async function agentTypesNamed(api: Api, names: readonly string[]): Promise<string[]> {
  const { items } = await api.get('/api/agents')
  const agents = items.map(({ agent_type, name }) => ({ id: agent_type, name }))
  return names.map((name) => findNamed(agents, name.trim(), 'agent').id)
}
