import { useInfiniteQuery, useQuery } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { paths } from '../../generated/api.d.ts'
import { api } from './api.ts'
import { callsCompleted, callsStarted } from './live/feeds.ts'
import type { CompletedCall, StartedCall } from './live/live-messages.ts'

export type { CompletedCall }
export type CallFilter = Omit<
  NonNullable<paths['/api/calls']['get']['parameters']['query']>,
  'cursor' | 'limit'
>

/** Calls that match, newest first, page by page. */
export function useCalls(filter: CallFilter = {}, limit = 200) {
  return useInfiniteQuery({
    queryKey: ['calls', 'list', filter, limit],
    queryFn: ({ pageParam }) =>
      api().get('/api/calls', { query: { ...filter, limit, ...(pageParam && { cursor: pageParam }) } }),
    initialPageParam: '',
    getNextPageParam: ({ next_cursor }) => next_cursor,
    select: ({ pages }) => pages.flatMap(({ items }) => items),
  })
}

/** One call with its arguments and its result. It needs the token. */
export function useCall(id: number | undefined) {
  return useQuery({
    queryKey: ['calls', 'one', id],
    enabled: id !== undefined,
    queryFn: () => api().get('/api/calls/{id}', { path: { id: String(id) } }),
  })
}

interface CallListeners {
  readonly onStarted?: (call: StartedCall & { readonly ts: string }) => void
  readonly onCompleted?: (call: CompletedCall & { readonly ts: string }) => void
}

/** Calls in the moment they start and end. The functions must be stable (`useCallback`). */
export function useCallFeed({ onStarted, onCompleted }: CallListeners): void {
  useEffect(() => onStarted && callsStarted.on(onStarted), [onStarted])
  useEffect(() => onCompleted && callsCompleted.on(onCompleted), [onCompleted])
}
