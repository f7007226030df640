import { Link } from 'wouter'
import { tokens } from '../../format/format.ts'
import { Monogram } from '../../parts/marks/Tag.tsx'
import css from './ColumnHead.module.css'
import { ColumnMenu } from './ColumnMenu.tsx'
import { type Column, type Load, loadOf } from './grid-model.ts'
import { t } from './messages.ts'
import gridCss from './PegGrid.module.css'
import type { Grid } from './use-grid.ts'

/** What the menu of a column can ask the page to open. */
export interface ColumnActions {
  readonly onAction: (kind: 'connect' | 'disconnect' | 'restore' | 'preset', column: Column) => void
  readonly onCopy: (to: Column, from: Column) => void
  readonly onPreset: (to: Column, servers: readonly string[] | null) => void
}

interface Props extends ColumnActions {
  readonly grid: Grid
  readonly column: Column
  readonly at: string
  readonly isCurrent: boolean
  readonly onFocus: () => void
}

/** The agent, what its tools cost in context, how it connects, and its menu. */
export function ColumnHead({ grid, column, at, isCurrent, onFocus, ...actions }: Props) {
  const { agent, unreadable, via } = column
  const isBad = unreadable !== null && via === 'direct'
  const link = { tabIndex: isCurrent ? 0 : -1, 'data-at': at, onFocus }
  return (
    // biome-ignore lint/a11y/useFocusableInteractive: the menu has the focus
    // biome-ignore lint/a11y/useSemanticElements: a grid with one Tab stop is not a table
    <div role="columnheader" className={gridCss.head}>
      <div className={css.name}>
        <Monogram name={agent.name} />
        <b className="cut">{agent.name}</b>
      </div>
      {isBad ? (
        <>
          <p className={`xs err ${css.bad}`}>{unreadable}</p>
          <Link className={`xs ${css.line}`} href={`/agents/${agent.agent_type}`} {...link}>
            {t('showLine')}
          </Link>
        </>
      ) : (
        <>
          <Size grid={grid} column={column} />
          <div className={`row xs muted ${css.foot}`}>
            {via === 'gateway' ? t('viaGateway') : t('direct')}
            <ColumnMenu grid={grid} column={column} target={link} {...actions} />
          </div>
        </>
      )}
    </div>
  )
}

function Size({ grid, column }: { readonly grid: Grid; readonly column: Column }) {
  const { servers, cellAt, savedCellAt } = grid
  const load = (each: Column, at: Grid['cellAt']): Load =>
    loadOf(
      each,
      servers,
      servers.map((server) => at(server, each)),
    )
  const [before, after] = [load(column, savedCellAt), load(column, cellAt)]
  const largest = Math.max(1, ...grid.columns.map((each) => load(each, cellAt).tokens))
  return (
    <>
      <div className={`row xs ${css.size}`}>
        {before.tools === after.tools ? (
          <span>{t('tools', { count: after.tools })}</span>
        ) : (
          <span>
            <span className="muted">{before.tools} →</span> <span className="info strong">{after.tools}</span>{' '}
            {t('toolsWord')}
          </span>
        )}
        <span className="muted cut">
          · {t(before.tools === after.tools ? 'tokens' : 'tokensShort', { tokens: tokens(after.tokens) })}
        </span>
      </div>
      <div className={css.bar} aria-hidden="true">
        <i style={{ width: `${(100 * after.tokens) / largest}%` }} />
      </div>
    </>
  )
}
