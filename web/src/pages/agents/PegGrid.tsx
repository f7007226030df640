import { Fragment, type KeyboardEvent, useCallback, useLayoutEffect, useMemo, useRef, useState } from 'react'
import type { Server } from '../../data/servers.ts'
import { type ColumnActions, ColumnHead, type Size } from './ColumnHead.tsx'
import { loadOf } from './columns.ts'
import { type At, GridRow } from './GridRow.tsx'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import css from './PegGrid.module.css'
import type { Grid, Toggle } from './use-grid.ts'
import { ROW_HEIGHT, useRowsInView } from './use-rows-in-view.ts'

interface Props extends ColumnActions {
  readonly grid: Grid
  /** Those that fit the filter. */
  readonly servers: readonly Server[]
  readonly columns: readonly Column[]
  readonly toggle: Toggle
  readonly onDiffers: (server: Server, column: Column) => void
  readonly onTools: (server: Server, column: Column) => void
}

/** Servers by agents. One Tab stop; arrow keys move, Space toggles, Enter opens the tools. */
export function PegGrid({ grid, servers, columns, toggle, onDiffers, onTools, ...actions }: Props) {
  const [at, setAt] = useState<At>({ row: 1, column: 1 })
  const root = useRef<HTMLDivElement>(null)
  const row = Math.min(at.row, servers.length)
  const column = Math.min(at.column, columns.length)

  const sizes = useMemo(() => sizesOf(grid), [grid])
  const rows = useRowsInView(root, servers.length, row - 1)
  const isMoving = useRef(false)

  // The row that a key leads to may be drawn only now.
  useLayoutEffect(() => {
    if (!isMoving.current) return
    isMoving.current = false
    root.current?.querySelector<HTMLElement>(`[data-at="${at.row}:${at.column}"]`)?.focus()
  }, [at])

  const focused = useCallback((next: At) => {
    const isThere = (before: At) => before.row === next.row && before.column === next.column
    setAt((before) => (isThere(before) ? before : next))
  }, [])

  function go(next: At): void {
    const row = Math.max(0, Math.min(next.row, servers.length))
    isMoving.current = true
    setAt({ row, column: Math.max(row === 0 ? 1 : 0, Math.min(next.column, columns.length)) })
  }

  function press(server: Server, into: Column): void {
    if (grid.cellAt(server, into).state === 'differs') onDiffers(server, into)
    else toggle.toggle(server, into)
  }

  function onKeyDown(event: KeyboardEvent): void {
    const { key, shiftKey, ctrlKey, metaKey } = event
    const last = ctrlKey || metaKey
    const moves: Readonly<Record<string, At>> = {
      ArrowUp: { row: row - 1, column },
      ArrowDown: { row: row + 1, column },
      ArrowLeft: { row, column: column - 1 },
      ArrowRight: { row, column: column + 1 },
      Home: { row: last ? 1 : row, column: 1 },
      End: { row: last ? servers.length : row, column: columns.length },
      PageUp: { row: row - 10, column },
      PageDown: { row: row + 10, column },
    }
    const next = moves[key]
    const [server, into] = [servers[row - 1], columns[column - 1]]
    if (next) go(next)
    else if (key === ' ' && server && shiftKey) toggle.toggleRow(server)
    else if (key === ' ' && server && into) press(server, into)
    else if (key === 'Enter' && server && into) onTools(server, into)
    else return
    event.preventDefault()
  }

  return (
    <section className={`card ${css.card}`} aria-label={t('grid')}>
      {/* biome-ignore lint/a11y/useSemanticElements: a grid with one Tab stop is not a table */}
      <div
        ref={root}
        role="grid"
        aria-label={t('grid')}
        aria-readonly={toggle.reason !== null}
        aria-rowcount={servers.length + 1}
        className={css.grid}
        style={{
          gridTemplateColumns: `236px repeat(${columns.length}, minmax(128px, 1fr))`,
          minWidth: 236 + 128 * columns.length,
        }}
        onKeyDown={onKeyDown}
      >
        {/* biome-ignore lint/a11y/useFocusableInteractive: the cells have the focus */}
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div role="row" aria-rowindex={1} className={css.row}>
          {/* biome-ignore lint/a11y/useFocusableInteractive: see above */}
          {/* biome-ignore lint/a11y/useSemanticElements: see above */}
          <div role="columnheader" className={`${css.head} ${css.corner}`}>
            <span className="muted xs">{t('server')}</span>
            <span className="muted xs">{t('serverNote')}</span>
          </div>
          {columns.map((each, index) => (
            <ColumnHead
              key={each.agent.agent_type}
              grid={grid}
              column={each}
              size={sizes.get(each) ?? NO_SIZE}
              index={index + 1}
              isCurrent={row === 0 && column === index + 1}
              onFocus={focused}
              {...actions}
            />
          ))}
        </div>
        {rows.map((index, position) => {
          const server = servers[index]
          const skipped = index - (rows[position - 1] ?? -1) - 1
          return (
            server && (
              <Fragment key={server.id}>
                <Space rows={skipped} />
                <GridRow
                  server={server}
                  cells={columns.map((each) => grid.cellAt(server, each))}
                  columns={columns}
                  row={index + 1}
                  current={row === index + 1 ? column : undefined}
                  reason={toggle.reason}
                  onPress={press}
                  onTools={onTools}
                  onFocus={focused}
                />
              </Fragment>
            )
          )
        })}
        <Space rows={servers.length - 1 - (rows.at(-1) ?? -1)} />
      </div>
    </section>
  )
}

/** In the place of rows that are not drawn. */
const Space = ({ rows }: { readonly rows: number }) =>
  rows > 0 ? <div className={css.space} style={{ height: rows * ROW_HEIGHT }} /> : null

const NO_SIZE: Size = { before: { tools: 0, tokens: 0 }, after: { tools: 0, tokens: 0 }, share: 0 }

function sizesOf({ servers, columns, cellAt, savedCellAt }: Grid): ReadonlyMap<Column, Size> {
  const loads = columns.map((column) => ({
    column,
    before: loadOf(column, servers, savedCellAt),
    after: loadOf(column, servers, cellAt),
  }))
  const largest = Math.max(1, ...loads.map(({ after }) => after.tokens))
  return new Map(
    loads.map(({ column, before, after }) => [column, { before, after, share: after.tokens / largest }]),
  )
}
