import { notifyManager, QueryCache, QueryClient } from '@tanstack/react-query'
import { ApiError } from './api.ts'
import { currentSession, onSession, signOut } from './session.ts'

/** Data is fresh until the live stream says otherwise, so nothing is read again by time or by focus. */
export const queryClient = new QueryClient({
  queryCache: new QueryCache({ onError: (error) => forgetRefusedToken(error) }),
  defaultOptions: {
    queries: {
      staleTime: Number.POSITIVE_INFINITY,
      gcTime: 5 * 60_000,
      refetchOnWindowFocus: false,
      refetchOnReconnect: false,
      networkMode: 'always', // the service may be on this computer while the internet is gone
      retry: (failures, error) => !(error instanceof ApiError) && failures < 2,
      retryDelay: 500,
    },
    mutations: { networkMode: 'always' },
  },
})

// A checkbox shows a change with the click that made it: before a timer runs, React would show the old state for a moment.
notifyManager.setScheduler(queueMicrotask)

// What is shown depends on the token: with it, more can be read.
onSession(() => void queryClient.resetQueries())

function forgetRefusedToken(error: unknown): void {
  if (error instanceof ApiError && error.code === 'invalid_token' && currentSession().token) signOut()
}
