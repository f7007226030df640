import { defaultRangeExtractor, useVirtualizer } from '@tanstack/react-virtual'
import type { RefObject } from 'react'

/** The height of a row in PegGrid.module.css. */
export const ROW_HEIGHT = 42

/** The rows in and near the view, and the one with the Tab stop. The others are not in the document. */
export function useRowsInView(
  root: RefObject<HTMLElement | null>,
  count: number,
  current: number,
): readonly number[] {
  const virtual = useVirtualizer({
    count,
    getScrollElement: () => root.current?.closest('main') ?? null,
    estimateSize: () => ROW_HEIGHT,
    scrollMargin: root.current?.offsetTop ?? 0,
    overscan: 10,
    rangeExtractor: (range) => {
      const rows = defaultRangeExtractor(range)
      const isMissing = current >= 0 && current < count && !rows.includes(current)
      return isMissing ? [...rows, current].sort((a, b) => a - b) : rows
    },
  })
  return virtual.getVirtualIndexes()
}
