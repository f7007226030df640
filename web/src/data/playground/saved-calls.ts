import { useMutation, useQuery } from '@tanstack/react-query'
import { api, type Schemas } from '../api.ts'
import { queryClient } from '../query-client.ts'
import { useSession } from '../session.ts'

export type SavedCall = Schemas['SavedCall']

/** Calls that were saved, by name. They need the token. */
export function useSavedCalls() {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['saved-calls', 'all'],
    enabled: mayChange,
    queryFn: () => api().get('/api/saved-calls'),
    select: ({ items }) => items.toSorted((a, b) => a.name.localeCompare(b.name)),
  })
}

const refresh = () => queryClient.invalidateQueries({ queryKey: ['saved-calls'] })

export function useSaveCall() {
  return useMutation({
    mutationFn: (call: Schemas['SavedCallInput']) =>
      api().put('/api/saved-calls/{id}', { path: { id: crypto.randomUUID() }, body: call }),
    onSettled: refresh,
  })
}

export function useForgetCall() {
  return useMutation({
    mutationFn: (id: string) => api().delete('/api/saved-calls/{id}', { path: { id } }),
    onSettled: refresh,
  })
}
