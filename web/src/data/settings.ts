import { useQuery } from '@tanstack/react-query'
import { api } from './api.ts'
import { useSession } from './session.ts'

/** All settings with their values and where they come from. It needs the token. */
export function useSettings() {
  const { mayChange } = useSession()
  return useQuery({
    queryKey: ['settings', 'all'],
    enabled: mayChange,
    queryFn: () => api().get('/api/settings'),
  })
}
