import { useCallback, useMemo, useState } from 'react'
import type { TrafficCall } from '../../data/traffic.ts'

/**
 * While the user reads further up, or has paused, no line is added or moved: new calls are only counted. Calls that were
 * running may end, older calls may be read, and another filter applies to what is there.
 */
export function useFrozen(calls: readonly TrafficCall[], matches: (call: TrafficCall) => boolean) {
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
    const now = calls.filter(({ id }) => id <= latest)
    const known = new Set(now.map(({ id }) => id))
    const kept = frozen.filter((call) => !known.has(call.id) && matches(call))
    return [...kept, ...now].sort((a, b) => a.id - b.id)
  }, [calls, frozen, latest, matches])
  const waiting = frozen ? calls.filter(({ id }) => id > latest).length : 0
  return { shown, waiting, isFollowing: isFollowing && !isPaused, isPaused, follow, pause }
}
