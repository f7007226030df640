import { keepPreviousData, useInfiniteQuery, useMutation, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { paths } from '../../generated/api.d.ts'
import { api, type LogLine, saveFile } from './api.ts'
import { droppedMessages, logLines } from './live/feeds.ts'
import { followLog } from './live/live.ts'
import type { LogFilter } from './live/live-messages.ts'
import { queryClient } from './query-client.ts'

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

/** The newest stored lines that match. The live stream continues them. */
export function useNewestLogs(filter: LogReadFilter, limit = 500) {
  return useQuery({
    queryKey: ['logs', 'newest', filter, limit],
    queryFn: ({ signal }) => api().get('/api/logs', { query: { ...filter, limit }, signal }),
    gcTime: 0, // a page that is opened again shows what is newest then
  })
}

/** A line with `each` lines before and after it, the newest first. `next_cursor` is null if there are no older ones. */
export const readAround = (id: number, filter: LogReadFilter, each: number) =>
  api().get('/api/logs', { query: { ...filter, around: id, limit: 2 * each } })

/** The neighbours of a line, the oldest first. */
export function useLogContext(id: number | undefined, filter: LogReadFilter, each: number) {
  return useQuery({
    queryKey: ['logs', 'around', id, filter, each],
    enabled: id !== undefined,
    queryFn: () =>
      api().get('/api/logs', { query: { ...filter, around: id ?? 1, limit: 2 * each + 1, order: 'asc' } }),
    select: ({ items }) => items,
  })
}

export type LogFormat = 'ndjson' | 'text' | 'csv'

/** Saves exactly the lines that match. */
export const downloadLogs = (filter: LogReadFilter, format: LogFormat): Promise<void> =>
  saveFile('/api/logs/download', { ...filter, format })

export function useClearLogs() {
  return useMutation({
    mutationFn: (query: LogReadFilter) => api().delete('/api/logs', { query }),
    onSettled: () => queryClient.invalidateQueries({ queryKey: ['logs'] }),
  })
}

type HistogramQuery = NonNullable<paths['/api/logs/histogram']['get']['parameters']['query']>

export function useLogHistogram(query: HistogramQuery, enabled = true) {
  return useQuery({
    queryKey: ['logs', 'histogram', query],
    enabled,
    queryFn: ({ signal }) => api().get('/api/logs/histogram', { query, signal }),
    refetchInterval: 5000,
    placeholderData: keepPreviousData,
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

/** How many messages the service left out because this tab was too slow. While a log is followed, nearly all are lines. */
export function useLogGaps(onGap: (lines: number) => void): void {
  useEffect(() => droppedMessages.on(onGap), [onGap])
}
