import { useMutation, useQuery } from '@tanstack/react-query'
import { api, type Job } from './api.ts'
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
    // Its progress is not on the live stream; what becomes of the servers is.
    refetchInterval: ({ state }) => (state.data?.items.some(isTrying) ? TRIES_EVERY_MS : false),
  })
}

const TRIES_EVERY_MS = 500
const isTrying = ({ kind, finished_at }: Job): boolean => kind === 'server_try' && finished_at === null

/** Starts all servers once, and follows the job. */
export function useTryAll() {
  const { data: jobs = [] } = useJobs()
  const start = useMutation({
    mutationFn: () => api().post('/api/servers/try', { query: { async: true }, body: {} }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['jobs'] }),
  })
  const job = jobs.find(({ kind }) => kind === 'server_try')
  return { start, job, isTrying: start.isPending || (job !== undefined && isTrying(job)) }
}

/** How far it is. */
export function progressOf({ phases }: Job): { readonly tried: number; readonly total: number } {
  const { tried = 0, total = 0 } = phases.findLast(({ name }) => name === 'trying')?.detail ?? {}
  return { tried: Number(tried), total: Number(total) }
}

export function useCancelJob() {
  return useMutation({
    mutationFn: (id: string) => api().post('/api/jobs/{id}/cancel', { path: { id } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['jobs'] }),
  })
}
