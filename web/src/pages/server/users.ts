import { useMemo } from 'react'
import { useFoundAgents } from '../../data/agents.ts'
import type { Agent } from '../../data/api.ts'

export interface User {
  readonly agent: Agent
  /** How it uses the server; null if it does not. */
  readonly via: 'gateway' | 'direct' | null
  /** How many of its tools the agent sees through the gateway. */
  readonly tools: number | null
}

/** The agents on this computer, those that use the server first. */
export function useAgentsOf(serverId: string): { readonly users: readonly User[]; readonly error: unknown } {
  const { data, error } = useFoundAgents()
  const users = useMemo(
    () => (data ?? []).map((agent) => userOf(agent, serverId)).toSorted((a, b) => rank(a) - rank(b)),
    [data, serverId],
  )
  return { users, error }
}

const rank = ({ via }: User): number => (via === null ? 1 : 0)

function userOf(agent: Agent, id: string): User {
  const seen =
    agent.connected_via === 'gateway'
      ? agent.visible?.by_server.find(({ server_id }) => server_id === id)
      : undefined
  if (seen) return { agent, via: 'gateway', tools: seen.tools }
  const isDirect = agent.servers?.some(({ linked_server_id, parked }) => linked_server_id === id && !parked)
  return { agent, via: isDirect ? 'direct' : null, tools: null }
}
