import { useMutation, useQuery } from '@tanstack/react-query'
import { api, type Notice } from './api.ts'
import { useShort } from './live/home-folder.ts'
import { queryClient } from './query-client.ts'

const RANK: Record<Notice['level'], number> = { error: 0, warn: 1, info: 2 }

export const noticesQuery = { queryKey: ['notices', 'open'], queryFn: () => api().get('/api/notices') }

/** What needs a person, the worst first. */
export function useNotices() {
  const short = useShort()
  return useQuery({
    ...noticesQuery,
    select: ({ items }) =>
      items
        .map((notice) => ({
          ...notice,
          text: short(notice.text),
          evidence: notice.evidence && short(notice.evidence),
        }))
        .toSorted((a, b) => RANK[a.level] - RANK[b.level] || b.at.localeCompare(a.at)),
  })
}

export function useMarkSeen() {
  return useMutation({
    mutationFn: (id: number) => api().post('/api/notices/{id}/seen', { path: { id: String(id) } }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['notices'] }),
  })
}
