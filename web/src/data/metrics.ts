import { keepPreviousData, useQueries, useQuery } from '@tanstack/react-query'
import { api, type ServerTimeseries, type Timeseries } from './api.ts'

export const WINDOWS = ['5m', '1h', '24h', '7d'] as const
export type Window = (typeof WINDOWS)[number]

/** A window ends now, so it is read again even when nothing is called. */
const MOVES_EVERY_MS: Record<Window, number> = { '5m': 5_000, '1h': 20_000, '24h': 60_000, '7d': 300_000 }

/** About 60 steps, and steps that the service keeps for servers. */
export const STEP: Record<Window, { readonly name: string; readonly s: number }> = {
  '5m': { name: '5s', s: 5 },
  '1h': { name: '1m', s: 60 },
  '24h': { name: '30m', s: 1800 },
  '7d': { name: '3h', s: 10_800 },
}

export function useSummary(window: Window) {
  return useQuery({
    queryKey: ['metrics', 'summary', window],
    queryFn: () => api().get('/api/metrics/summary', { query: { window } }),
    refetchInterval: MOVES_EVERY_MS[window],
    placeholderData: keepPreviousData,
  })
}

/** Calls and latencies over time. */
export function useTimeseries(window: Window) {
  return useQuery({
    queryKey: ['metrics', 'timeseries', window],
    queryFn: async () =>
      (await api().get('/api/metrics/timeseries', {
        query: { window, step: STEP[window].name },
      })) as Timeseries,
    refetchInterval: MOVES_EVERY_MS[window],
    placeholderData: keepPreviousData,
  })
}

export type ServerSeries = ServerTimeseries['series'][number]

/** The service limits how many servers a request names. */
const MOST_IDS = 50

/** One series for each of these servers, by its id. Servers that are not shown are not read. */
export function useServerSeries(window: Window, ids: readonly string[]): ReadonlyMap<string, ServerSeries> {
  const sorted = ids.toSorted()
  const parts = Array.from({ length: Math.ceil(ids.length / MOST_IDS) }, (_, index) =>
    sorted.slice(index * MOST_IDS, (index + 1) * MOST_IDS),
  )
  return useQueries({
    queries: parts.map((server_id) => ({
      queryKey: ['metrics', 'by-server', window, server_id],
      queryFn: async () =>
        (await api().get('/api/metrics/timeseries', {
          query: { window, step: STEP[window].name, by: 'server_id', server_id },
        })) as ServerTimeseries,
      refetchInterval: MOVES_EVERY_MS[window],
      placeholderData: keepPreviousData,
    })),
    combine: byServer,
  })
}

const byServer = (answers: readonly { readonly data: ServerTimeseries | undefined }[]) =>
  new Map(
    answers.flatMap(({ data }) =>
      (data?.series ?? []).flatMap((each) =>
        each.server_id === null ? [] : [[each.server_id, each] as const],
      ),
    ),
  )

export function useServerMetrics(id: string, window: Window) {
  return useQuery({
    queryKey: ['metrics', 'server', id, window],
    queryFn: () => api().get('/api/metrics/servers/{id}', { path: { id }, query: { window } }),
    refetchInterval: MOVES_EVERY_MS[window],
    placeholderData: keepPreviousData,
  })
}

export function useToolMetrics(window: Window, server_id?: string) {
  return useQuery({
    queryKey: ['metrics', 'tools', window, server_id],
    queryFn: () =>
      api().get('/api/metrics/tools', { query: { window, ...(server_id !== undefined && { server_id }) } }),
    select: ({ items }) => items,
    refetchInterval: MOVES_EVERY_MS[window],
    placeholderData: keepPreviousData,
  })
}

/** The series of one server, with the time in which it was down. With `resources`, CPU and memory. */
export function useSeriesOf(server_id: string, window: Window, kind: 'tool_call' | 'resources') {
  return useQuery({
    queryKey: ['metrics', 'of-server', server_id, window, kind],
    queryFn: async () =>
      (await api().get('/api/metrics/timeseries', {
        query: { window, step: STEP[window].name, by: 'server_id', kind, server_id: [server_id] },
      })) as ServerTimeseries,
    select: ({ series }) => series.find((each) => each.server_id === server_id),
    refetchInterval: MOVES_EVERY_MS[window],
    placeholderData: keepPreviousData,
  })
}
