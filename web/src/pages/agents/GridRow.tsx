import { memo } from 'react'
import { Link } from 'wouter'
import type { Server } from '../../data/servers.ts'
import { tokens } from '../../format/format.ts'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { needsEyes, shownStatus } from '../../parts/marks/status.ts'
import type { Cell, Column } from './grid-model.ts'
import { Peg } from './Peg.tsx'
import css from './PegGrid.module.css'

/** Row 0 holds the menus of the columns, column 0 the names of the servers. */
export interface At {
  readonly row: number
  readonly column: number
}

interface RowProps {
  readonly server: Server
  readonly cells: readonly Cell[]
  readonly columns: readonly Column[]
  readonly row: number
  /** The column of the cell that Tab reaches. */
  readonly current: number | undefined
  readonly reason: string | null
  readonly onPress: (server: Server, column: Column) => void
  readonly onTools: (server: Server, column: Column) => void
  readonly onFocus: (at: At) => void
}

/** One server: its name and state, then a cell for each agent. */
export const GridRow = memo(
  function GridRow({ server, cells, columns, row, current, reason, onFocus, ...on }: RowProps) {
    const { glyph, word, tone } = shownStatus(server)
    return (
      // biome-ignore lint/a11y/useFocusableInteractive: the cells have the focus
      // biome-ignore lint/a11y/useSemanticElements: a grid with one Tab stop is not a table
      <div role="row" aria-rowindex={row + 1} className={css.row}>
        {/* biome-ignore lint/a11y/useFocusableInteractive: see above */}
        {/* biome-ignore lint/a11y/useSemanticElements: see above */}
        <div role="rowheader" className={css.server}>
          <span className={tone}>
            <Glyph name={glyph} />
          </span>
          <Link
            href={`/servers/${server.id}`}
            className={`cut ${css.name}`}
            tabIndex={current === 0 ? 0 : -1}
            data-at={`${row}:0`}
            onFocus={() => onFocus({ row, column: 0 })}
          >
            {server.name}
          </Link>
          <span className={`sm ${needsEyes(server) ? tone : 'muted'}`}>{word}</span>
          <span className={`right sm muted ${css.size}`}>
            {server.tool_count !== null && `${server.tool_count} · ${tokens(server.tool_tokens)}`}
          </span>
        </div>
        {columns.map((column, index) => {
          const cell = cells[index]
          return (
            cell && (
              <Peg
                key={column.agent.agent_type}
                cell={cell}
                server={server.name}
                agent={column.agent.name}
                isBad={column.unreadable !== null && column.via === 'direct'}
                readOnly={reason}
                at={`${row}:${index + 1}`}
                isCurrent={current === index + 1}
                tools={server.tool_count}
                onPress={() => on.onPress(server, column)}
                onTools={() => on.onTools(server, column)}
                onFocus={() => onFocus({ row, column: index + 1 })}
              />
            )
          )
        })}
      </div>
    )
  },
  (before, after) =>
    before.server === after.server &&
    before.columns === after.columns &&
    before.row === after.row &&
    before.current === after.current &&
    before.reason === after.reason &&
    before.cells.every((cell, index) => cell === after.cells[index]),
)
