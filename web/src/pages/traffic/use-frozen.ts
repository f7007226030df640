import { useCallback, useMemo, useState } from 'react'
import type { TrafficCall } from '../../data/traffic.ts'

/**
 * While the user reads further up, or has paused, no line is added or moved: new calls are only counted. Calls that were
 * running may end, and older calls may be read.
 */
export function useFrozen(calls: readonly TrafficCall[]) {
  const [frozen, setFrozen] = useState<readonly TrafficCall[]>()
  const [isFollowing, setFollowing] = useState(true)
  const [isPaused, setPaused] = useState(false)
  const latest = frozen?.at(-1)?.id ?? (frozen ? 0 : Number.POSITIVE_INFINITY)
  const follow = useCallback(
    (next: boolean) => {
      setFollowing(next)
      if (next) setPaused(false)
      setFrozen((before) => (next ? undefined : (before ?? calls)))
    },
    [calls],
  )
  const pause = (next: boolean) => {
    setPaused(next)
    setFrozen((before) => (next ? (before ?? calls) : undefined))
    if (!next) setFollowing(true)
  }
  const shown = useMemo(() => {
    if (!frozen) return calls
    const now = new Map(calls.map((call) => [call.id, call]))
    const oldest = frozen[0]?.id ?? 0
    const older = calls.filter(({ id }) => id < oldest)
    return [...older, ...frozen.map((call) => now.get(call.id) ?? call)]
  }, [calls, frozen])
  const waiting = frozen ? calls.filter(({ id }) => id > latest).length : 0
  return { shown, waiting, isFollowing: isFollowing && !isPaused, isPaused, follow, pause }
}
