import { useEffect, useMemo, useState } from 'react'
import type { Call } from './api.ts'
import { type CallFilter, useCalls } from './calls.ts'
import { callsCompleted, callsStarted, droppedMessages } from './live/feeds.ts'
import { useLive } from './live/live.ts'

/** A call of the list, or one that runs now. */
export type TrafficCall = Omit<Call, 'status'> & { readonly status: Call['status'] | 'running' }

/** Calls that came with the live stream and are kept beside those that were read. */
const MOST_LIVE = 2000
/** Messages of this time are shown together, so that a busy service does not draw the page for each. */
const BATCH_MS = 100
const NONE: ReadonlyMap<number, TrafficCall> = new Map()

/** Calls as they happen, over those that were read, in the order of their start. */
export function useTraffic(query: CallFilter) {
  const history = useCalls(query)
  const live = useLiveCalls()
  const calls = useMemo(() => {
    const byId = new Map<number, TrafficCall>(live)
    for (const call of history.data ?? []) byId.set(call.id, call) // it has the error message, too
    return [...byId.values()].sort((a, b) => a.id - b.id)
  }, [history.data, live])
  return {
    calls,
    error: history.error,
    isPending: history.isPending,
    hasOlder: history.hasNextPage,
    isReading: history.isFetchingNextPage,
    readOlder: history.fetchNextPage,
  }
}

function useLiveCalls(): ReadonlyMap<number, TrafficCall> {
  const [live, setLive] = useState(NONE)
  const { state } = useLive().connection
  useEffect(() => {
    let waiting: TrafficCall[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const show = () => {
      timer = undefined
      const batch = waiting
      waiting = []
      setLive((before) => withBatch(before, batch))
    }
    const add = (call: TrafficCall) => {
      waiting.push(call)
      timer ??= setTimeout(show, BATCH_MS)
    }
    // What was missed is read again, so what was seen before would leave a gap.
    const forget = () => setLive(NONE)
    if (state !== 'live') forget()
    const stop = [
      callsStarted.on(({ ts, call_id, ...call }) =>
        add({ ...call, id: call_id, started_at: ts, ...UNKNOWN }),
      ),
      callsCompleted.on(({ ts, call_id, ...call }) =>
        add({
          ...call,
          id: call_id,
          started_at: new Date(Date.parse(ts) - (call.duration_ms ?? 0)).toISOString(),
        }),
      ),
      droppedMessages.on(forget),
    ]
    return () => {
      clearTimeout(timer)
      for (const each of stop) each()
    }
  }, [state])
  return live
}

const UNKNOWN = {
  status: 'running',
  duration_ms: 0,
  queue_ms: 0,
  start_ms: 0,
  server_ms: 0,
  error_code: null,
  response_bytes: 0,
} as const

function withBatch(
  before: ReadonlyMap<number, TrafficCall>,
  batch: readonly TrafficCall[],
): ReadonlyMap<number, TrafficCall> {
  const after = new Map(before)
  for (const call of batch) {
    // A call keeps the time at which it was seen to start.
    const started_at = before.get(call.id)?.started_at ?? call.started_at
    after.set(call.id, { ...call, started_at })
  }
  for (const id of after.keys()) {
    if (after.size <= MOST_LIVE) break
    after.delete(id)
  }
  return after
}
