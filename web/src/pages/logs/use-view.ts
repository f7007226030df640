import { useCallback, useEffect, useMemo, useRef, useState, useSyncExternalStore } from 'react'
import { readAround, useLogFeed, useLogGaps, useNewestLogs } from '../../data/logs.ts'
import { type Choice, fits, followed, isFixed, shownOf } from './filter.ts'
import { LogView, type Shown, type ShownLine } from './view.ts'

export type Pause = 'user' | 'scrolled'
const OLDER = 500

/** The lines of the page, live. While it is paused, nothing moves. */
export function useView(choice: Choice) {
  const key = JSON.stringify(shownOf(choice))
  // biome-ignore lint/correctness/useExhaustiveDependencies: another filter is another view
  const view = useMemo(() => new LogView(), [key])
  const latest = useRef(choice)
  latest.current = choice
  const [pause, setPause] = useState<Pause>()
  const newest = useNewestLogs(shownOf(choice))
  const isPaused = pause !== undefined
  const [hasOlder, setHasOlder] = useState(true)
  const isReading = useRef(false)
  const onLine = useCallback(
    (line: ShownLine) => {
      const filter = followed(latest.current)
      if (filter && fits(filter, line)) view.add(line)
    },
    [view],
  )
  useLogFeed(followed(choice), onLine)
  useLogGaps(view.miss)
  useEffect(() => {
    view.isPaused = isPaused
  }, [view, isPaused])
  useEffect(() => {
    if (!newest.data || (isPaused && view.isRead)) return
    view.read(newest.data.items)
    setHasOlder(newest.data.next_cursor !== null)
  }, [view, newest.data, isPaused])

  const filter = shownOf(choice)
  const readOlder = async () => {
    const first = view.shown().lines.find(({ id }) => id !== null)?.id
    if (!hasOlder || isReading.current || first === undefined || first === null) return
    isReading.current = true
    try {
      const { items, next_cursor } = await readAround(first, filter, OLDER)
      view.addOlder(items.toReversed())
      setHasOlder(next_cursor !== null)
    } finally {
      isReading.current = false
    }
  }
  const resume = useCallback(() => setPause(undefined), [])
  return {
    lines: view,
    pause,
    setPause,
    resume,
    readOlder,
    isFixed: isFixed(choice),
    isPending: newest.isPending,
    error: newest.error,
    readAgain: newest.refetch,
  }
}

/** Drawn again with every batch of lines, so only the parts that show lines use it. */
export const useShown = ({ lines }: View): Shown => useSyncExternalStore(lines.subscribe, lines.shown)

export type View = ReturnType<typeof useView>
