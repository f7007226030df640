import { useDebouncedValue } from '@mantine/hooks'
import { useQueries } from '@tanstack/react-query'
import { useMemo, useSyncExternalStore } from 'react'
import { useFoundAgents } from '../../data/agents.ts'
import type { Agent } from '../../data/api.ts'
import { type ServerSeries, useServerSeries } from '../../data/metrics.ts'
import { type Server, toolsQuery } from '../../data/servers.ts'

/** Which agents use which server, by its id. */
export function useUsers(): ReadonlyMap<string, readonly string[]> {
  const { data: agents } = useFoundAgents()
  return useMemo(() => {
    const users = new Map<string, string[]>()
    for (const agent of agents ?? []) {
      for (const id of serversOf(agent)) users.set(id, [...(users.get(id) ?? []), agent.name])
    }
    return users
  }, [agents])
}

function serversOf({ servers = [], connected_via, visible }: Agent): Set<string> {
  const own = servers.flatMap(({ linked_server_id, parked }) =>
    linked_server_id !== null && !parked ? [linked_server_id] : [],
  )
  const seen = connected_via === 'gateway' ? (visible?.by_server ?? []) : []
  return new Set([...own, ...seen.map(({ server_id }) => server_id)])
}

/** Which rows are drawn changes with every key in the filter, so their figures are read when it rests. */
export function useDrawnSeries(drawn: readonly Server[]): ReadonlyMap<string, ServerSeries> {
  const [ids] = useDebouncedValue(drawn.map(({ id }) => id).join(), 250)
  return useServerSeries('1h', ids === '' ? [] : ids.split(','))
}

/** The names of all tools, by server. They are read only while the filter names a tool. */
export function useToolNames(servers: readonly Server[], isNeeded: boolean): ReadonlyMap<string, string[]> {
  const listed = isNeeded ? servers.filter(({ tool_count }) => tool_count !== null) : []
  const results = useQueries({ queries: listed.map((server) => toolsQuery(server)) })
  return new Map(
    listed.map(({ id }, index) => [id, (results[index]?.data?.items ?? []).map(({ name }) => name)]),
  )
}

/** Under 1100 px the table becomes cards. */
const NARROW = '(max-width: 1100px)'
export const useNarrow = (): boolean =>
  useSyncExternalStore(
    (changed) => {
      const query = matchMedia(NARROW)
      query.addEventListener('change', changed)
      return () => query.removeEventListener('change', changed)
    },
    () => matchMedia(NARROW).matches,
  )
