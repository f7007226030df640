import { type ReactNode, useCallback, useState } from 'react'

const STEP = 30
/** About the height of a row. */
const ROW = 36

/** How many rows to draw: more of them when the end of the list comes into view. `end` stands after the rows. */
export function useGrowing(
  total: number,
  rowHeight = ROW,
): { readonly count: number; readonly end: ReactNode } {
  const [count, setCount] = useState(STEP)
  const watch = useCallback((element: HTMLDivElement) => {
    const grow = ([entry]: IntersectionObserverEntry[]) =>
      entry?.isIntersecting && setCount((before) => before + STEP)
    const seen = new IntersectionObserver(grow, { rootMargin: '600px' })
    seen.observe(element)
    return () => seen.disconnect()
  }, [])
  // A new element for each step, because an observer reports only when something changes.
  const end = <div key={count} ref={watch} style={{ height: (total - count) * rowHeight }} />
  return { count, end: count >= total ? null : end }
}
