import { useMutation, useQuery } from '@tanstack/react-query'
import { api } from './api.ts'
import { queryClient } from './query-client.ts'
import { useSession } from './session.ts'

/** Jobs need the token; without it there are none to show. */
export function useJobs() {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['jobs', 'all'],
    enabled: mayChange,
    queryFn: () => api().get('/api/jobs'),
    select: ({ items }) => items,
  })
}

export function useCancelJob() {
  return useMutation({
    mutationFn: (id: string) => api().post('/api/jobs/{id}/cancel', { path: { id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['jobs'] }),
  })
}
