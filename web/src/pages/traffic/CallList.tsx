import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useCallback, useEffect, useLayoutEffect, useRef } from 'react'
import { Act } from '../../parts/controls/Act.tsx'
import css from './CallList.module.css'
import { type Row, scaleOf } from './groups.ts'
import { t } from './messages.ts'
import rowCss from './rows.module.css'
import { CallRow, GroupRow } from './rows.tsx'

interface Props {
  readonly rows: readonly Row[]
  readonly selected: number | undefined
  readonly isFollowing: boolean
  /** How many calls are not shown yet. */
  readonly waiting: number
  readonly onSelect: (id: number) => void
  readonly onToggle: (group: string) => void
  /** The user scrolled away from the end, or back to it. */
  readonly onFollow: (follow: boolean) => void
  /** Reads older calls, if there are any. */
  readonly older: ReactNode
}

const HEIGHT = { group: 32, call: 30 }
const [HEAD, OLDER] = [32, 36]
/** A little tolerance for fractions of a pixel. */
const NEAR = 6

/** The lines of Traffic. While it follows, the newest is in view; when the user scrolls up, nothing moves. */
export function CallList({ rows, selected, isFollowing, waiting, older, ...on }: Props) {
  const { onFollow } = on
  const box = useRef<HTMLDivElement>(null)
  const margin = older ? HEAD + OLDER : HEAD
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => box.current,
    estimateSize: (index) => HEIGHT[rows[index]?.kind ?? 'call'],
    getItemKey: (index) => rows[index]?.key ?? index,
    overscan: 12,
    scrollMargin: margin,
  })
  const toEnd = useCallback(() => {
    const element = box.current
    if (element) element.scrollTop = element.scrollHeight
  }, [])
  const before = useRef({ first: rows[0]?.key, last: rows.at(-1)?.key, size: 0 })
  const size = virtual.getTotalSize()
  useLayoutEffect(() => {
    const [first, last] = [rows[0]?.key, rows.at(-1)?.key]
    const hasOlder = before.current.first !== first && before.current.last === last
    if (isFollowing) toEnd()
    else if (hasOlder && box.current) box.current.scrollTop += size - before.current.size
    before.current = { first, last, size }
  }, [rows, size, isFollowing, toEnd])
  useEffect(() => {
    const element = box.current
    if (!element || !isFollowing) return
    const resized = new ResizeObserver(toEnd)
    resized.observe(element)
    return () => resized.disconnect()
  }, [isFollowing, toEnd])
  // A line that is selected with a key comes into view; one that was clicked is there already.
  const index = rows.findIndex((row) => row.kind === 'call' && row.call.id === selected)
  const scrollToIndex = useRef(virtual.scrollToIndex)
  scrollToIndex.current = virtual.scrollToIndex
  useEffect(() => {
    if (index >= 0 && selected !== undefined && !isFollowing) scrollToIndex.current(index, { align: 'auto' })
  }, [selected, index, isFollowing])
  const onScroll = () => {
    const element = box.current
    if (!element) return
    onFollow(element.scrollHeight - element.scrollTop - element.clientHeight <= NEAR)
  }
  const items = virtual.getVirtualItems()
  const { startIndex = 0, endIndex = 0 } = virtual.range ?? {}
  const stepMs = scaleOf(rows.slice(startIndex, endIndex + 1))
  const reachable = index >= 0 ? index : items[items.length - 1]?.index
  return (
    <div className={css.frame}>
      <div
        ref={box}
        className={css.box}
        onScroll={onScroll}
        role="log"
        aria-label={t('calls')}
        aria-live="off"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reachable with the keyboard
        tabIndex={0}
      >
        <div className={`${rowCss.row} ${rowCss.head}`}>
          <span className={rowCss.time}>{t('time')}</span>
          <span className={rowCss.server}>{t('serverHead')}</span>
          <span>{t('tool')}</span>
          <span />
          <span className="num">{t('duration')}</span>
          <span className="num">{t('result')}</span>
        </div>
        {older && <div className={css.older}>{older}</div>}
        <div className={css.lines} style={{ height: virtual.getTotalSize() }}>
          {items.map((item) => {
            const row = rows[item.index]
            if (!row) return null
            const tabIndex = item.index === reachable ? 0 : -1
            return (
              <div key={item.key} className={css.line} style={{ top: item.start - margin }}>
                {row.kind === 'group' ? (
                  <GroupRow
                    group={row.group}
                    stepMs={stepMs}
                    isOpen={row.isOpen}
                    tabIndex={tabIndex}
                    onToggle={() => on.onToggle(row.group.key)}
                  />
                ) : (
                  <CallRow
                    call={row.call}
                    group={row.group}
                    stepMs={stepMs}
                    isSelected={row.call.id === selected}
                    tabIndex={tabIndex}
                    onSelect={() => on.onSelect(row.call.id)}
                  />
                )}
              </div>
            )
          })}
        </div>
      </div>
      <div className={css.pill} role="status">
        {waiting > 0 && (
          <Act look="main" icon="down" onClick={() => onFollow(true)}>
            {t('newCalls', { count: waiting })}
          </Act>
        )}
      </div>
    </div>
  )
}
