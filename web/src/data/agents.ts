import { useQuery } from '@tanstack/react-query'
import { useMemo } from 'react'
import { type Agent, api } from './api.ts'

export const agentsQuery = {
  queryKey: ['agents', 'all'],
  queryFn: () => api().get('/api/agents', { query: { include: 'servers,tools' } }),
}

/** All agents of the catalogue with their files, entries, and what the gateway offers to them. */
export function useAgents() {
  return useQuery({ ...agentsQuery, select: ({ items }) => items })
}

/** The agents that are on this computer: installed, or with a file. */
export function useFoundAgents() {
  const { data, ...rest } = useAgents()
  const found = useMemo(() => data?.filter(isFound), [data])
  return { data: found, ...rest }
}

const isFound = ({ installed, scopes }: Agent): boolean => installed || scopes.some(({ exists }) => exists)
