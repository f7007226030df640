import { useMediaQuery } from '@mantine/hooks'
import { useVirtualizer } from '@tanstack/react-virtual'
import { type MouseEvent, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { useServers } from '../../data/servers.ts'
import { count } from '../../format/format.ts'
import { useKeys } from '../../keyboard/keys.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Keys } from '../../parts/marks/Keys.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import type { Choice } from './filter.ts'
import { Line } from './Line.tsx'
import css from './Lines.module.css'
import { t } from './messages.ts'
import { rowsOf } from './rows.ts'
import { useShown, type View } from './use-view.ts'

const ROW = 21
/** Under 700 px the message stands below the rest, and is as high as it needs. */
const NARROW = '(max-width: 700px)'
const NARROW_ROW = 46
/** So near the end the view follows, and so near the beginning older lines are read. */
const NEAR_END = 2 * ROW
const NEAR_START = 40 * ROW

interface Props {
  readonly view: View
  readonly choice: Choice & { readonly wrap: boolean; readonly timeless: boolean }
  readonly selected: number | null | undefined
  readonly onSelect: (id: number | null) => void
  readonly onAround: (id: number) => void
  readonly onShowAll: () => void
}

/** Only the lines on screen are in the document. Scrolling up pauses; the end resumes. */
export function LogList({ view, choice, selected, onSelect, onAround, onShowAll }: Props) {
  const scroller = useRef<HTMLDivElement>(null)
  const [opened, setOpened] = useState<ReadonlySet<number | null>>(new Set())
  const names = useNames()
  const { lines, waiting, before } = useShown(view)
  const { pause } = view
  const isNarrow = useMediaQuery(NARROW) ?? false
  const wrap = choice.wrap || isNarrow
  const rows = useMemo(() => rowsOf(lines, opened), [lines, opened])
  const virtual = useVirtualizer({
    count: rows.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isNarrow ? NARROW_ROW : ROW),
    overscan: 12,
    useFlushSync: false,
  })
  const isAtEnd = useRef(true)
  const heightBefore = useRef(0)

  useLayoutEffect(() => {
    const element = scroller.current
    if (!element) return
    if (!pause) {
      element.scrollTop = element.scrollHeight
      isAtEnd.current = true
    } else if (before > 0 && lines.length > 0)
      element.scrollTop += element.scrollHeight - heightBefore.current
    heightBefore.current = element.scrollHeight
  }, [lines, pause, before])
  // biome-ignore lint/correctness/useExhaustiveDependencies: all heights change with it
  useEffect(() => virtual.measure(), [wrap, isNarrow])
  // Lines are measured after they are drawn.
  const height = virtual.getTotalSize()
  // biome-ignore lint/correctness/useExhaustiveDependencies: the end moves with it
  useLayoutEffect(() => {
    const element = scroller.current
    if (element && !pause) element.scrollTop = element.scrollHeight
  }, [height, pause])

  const onScroll = () => {
    const element = scroller.current
    if (!element) return
    const toEnd = element.scrollHeight - element.scrollTop - element.clientHeight
    isAtEnd.current = toEnd < NEAR_END
    if (isAtEnd.current && pause === 'scrolled') view.resume()
    if (element.scrollTop < NEAR_START) void view.readOlder()
  }
  /** Only the user scrolls up: the wheel, a finger, a key or the bar. */
  const onUser = (isUp: boolean) => {
    const element = scroller.current
    if (!element || element.scrollHeight <= element.clientHeight) return
    if (isUp && !pause && !view.isFixed) view.setPause('scrolled')
  }
  const move = (step: number) => {
    const at = rows.findIndex(({ line }) => line.id === selected)
    const next = at === -1 ? rows.length - 1 : Math.min(rows.length - 1, Math.max(0, at + step))
    const id = rows[next]?.line.id
    if (id === undefined) return
    onSelect(id)
    if (next < rows.length - 1) onUser(true)
    virtual.scrollToIndex(next, { align: 'auto' })
  }
  useKeys(t('list'), {
    j: { does: t('next'), run: () => move(1) },
    k: { does: t('previous'), run: () => move(-1) },
    Enter: { does: t('keyAround'), run: () => typeof selected === 'number' && onAround(selected) },
  })
  const onClick = ({ target }: MouseEvent) => {
    const id = (target as HTMLElement).closest<HTMLElement>('[data-id]')?.dataset.id
    if (id !== undefined) onSelect(Number(id))
  }
  const toggle = (id: number | null) =>
    setOpened((now) => new Set(now.has(id) ? [...now].filter((each) => each !== id) : [...now, id]))

  if (view.error) return <ErrorState error={view.error} onRetry={() => void view.readAgain()} />
  const isEmpty = rows.length === 0
  return (
    <div className={css.listFrame}>
      <div
        ref={scroller}
        className={css.list}
        role="log"
        aria-live="off"
        aria-label={t('list')}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it can be focused
        tabIndex={0}
        data-wrap={wrap || undefined}
        data-timeless={choice.timeless || undefined}
        onScroll={onScroll}
        onWheel={({ deltaY }) => onUser(deltaY < 0)}
        onTouchMove={() => onUser(true)}
        onPointerDown={({ target, currentTarget }) => onUser(target === currentTarget)}
        onKeyDown={(event) => {
          if (event.key === 'ArrowDown' || event.key === 'ArrowUp') {
            event.preventDefault()
            move(event.key === 'ArrowDown' ? 1 : -1)
          } else onUser(event.key === 'PageUp' || event.key === 'Home')
        }}
        onClick={onClick}
      >
        <div className={css.inner} style={{ height }}>
          {virtual.getVirtualItems().map(({ index, start }) => {
            const row = rows[index]
            return (
              row && (
                <Line
                  key={row.line.id ?? `live-${index}`}
                  row={row}
                  index={index}
                  start={start}
                  measure={wrap ? virtual.measureElement : undefined}
                  name={names.get(row.line.server_id ?? '') ?? row.line.server_id}
                  sought={choice.q.trim()}
                  isSelected={row.line.id !== null && row.line.id === selected}
                  isOpened={opened.has(row.line.id)}
                  onToggle={toggle}
                  onAround={onAround}
                />
              )
            )
          })}
        </div>
      </div>
      {isEmpty && view.isPending && <Skeleton rows={12} height={ROW} />}
      {isEmpty && !view.isPending && <Nothing isFiltered={choice.q !== ''} onShowAll={onShowAll} />}
      {waiting > 0 && (
        <button type="button" className={css.newer} onClick={view.resume}>
          <Icon name="down" size={14} />
          {t('newLines', { count: waiting, lines: count(waiting) })}
          <Keys of="End" />
        </button>
      )}
    </div>
  )
}

function Nothing({
  isFiltered,
  onShowAll,
}: {
  readonly isFiltered: boolean
  readonly onShowAll: () => void
}) {
  return (
    <div className={css.nothing}>
      <EmptyState
        title={t(isFiltered ? 'noMatch' : 'empty')}
        text={t(isFiltered ? 'noMatchText' : 'emptyText')}
      >
        <Act look="main" onClick={onShowAll}>
          {t('showAll')}
        </Act>
      </EmptyState>
    </div>
  )
}

function useNames(): ReadonlyMap<string, string> {
  const { servers } = useServers()
  return useMemo(() => new Map(servers?.map(({ id, name }) => [id, name])), [servers])
}
