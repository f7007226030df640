import { useQuery } from '@tanstack/react-query'
import { api } from './api.ts'

/** The installed packages. */
export function usePackages() {
  return useQuery({
    queryKey: ['packages', 'installed'],
    queryFn: () => api().get('/api/packages'),
    select: ({ items }) => items,
  })
}
