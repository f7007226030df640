import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { paths } from '../../generated/api.d.ts'
import { api, type LogLine } from './api.ts'
import { logLines } from './live/feeds.ts'
import type { LogFilter } from './live/frames.ts'
import { followLog } from './live/live.ts'

export type { LogFilter }

type LogQuery = NonNullable<paths['/api/logs']['get']['parameters']['query']>
export type LogReadFilter = Omit<LogQuery, 'cursor' | 'limit'>

/** Stored lines that match, newest first, page by page. */
export function useLogs(filter: LogReadFilter = {}, limit = 500) {
  return useInfiniteQuery({
    queryKey: ['logs', 'list', filter, limit],
    queryFn: ({ pageParam }) =>
      api().get('/api/logs', { query: { ...filter, limit, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  })
}

type HistogramQuery = NonNullable<paths['/api/logs/histogram']['get']['parameters']['query']>

export function useLogHistogram(query: HistogramQuery) {
  return useQuery({
    queryKey: ['logs', 'histogram', query],
    queryFn: () => api().get('/api/logs/histogram', { query }),
    refetchInterval: 10_000,
  })
}

/** Lines in the moment they are stored, while the page is open. One page at a time may follow. */
export function useLogFeed(
  filter: LogFilter | undefined,
  onLine: (line: Omit<LogLine, 'id'> & { readonly id: number | null }) => void,
): void {
  const wanted = JSON.stringify(filter)
  useEffect(() => {
    if (wanted === undefined) return
    followLog(JSON.parse(wanted) as LogFilter)
    return () => followLog(undefined)
  }, [wanted])
  useEffect(() => logLines.on(onLine), [onLine])
}
