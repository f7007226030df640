import { useQuery } from '@tanstack/react-query'
import { api } from './api.ts'
import { useSession } from './session.ts'

/** What happened, newest first. It needs the token. */
export function useEvents(limit = 50) {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['events', 'recent', limit],
    enabled: mayChange,
    queryFn: () => api().get('/api/events', { query: { limit } }),
    select: ({ items }) => items,
  })
}
