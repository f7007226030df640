import { memo } from 'react'
import { Link } from 'wouter'
import { tokens } from '../../format/format.ts'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import css from './ColumnHead.module.css'
import { ColumnMenu } from './ColumnMenu.tsx'
import type { Load } from './columns.ts'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import gridCss from './PegGrid.module.css'
import { Unreadable } from './Unreadable.tsx'
import type { Grid } from './use-grid.ts'

/** What the menu of a column can ask the page to open. */
export interface ColumnActions {
  readonly onAction: (kind: 'connect' | 'disconnect' | 'restore' | 'preset', column: Column) => void
  readonly onCopy: (to: Column, from: Column) => void
  readonly onPreset: (to: Column, preset: string, servers: readonly string[] | null) => void
}

interface Props extends ColumnActions {
  readonly grid: Grid
  readonly column: Column
  readonly size: Size
  readonly index: number
  readonly isCurrent: boolean
  readonly onFocus: (at: { readonly row: number; readonly column: number }) => void
}

/** What the agent's context holds: as written, with what is staged, and beside the largest column. */
export interface Size {
  readonly before: Load
  readonly after: Load
  readonly share: number
}

/** The agent, what its tools cost in context, how it connects, and its menu. */
export const ColumnHead = memo(
  function ColumnHead({ grid, column, size, index, isCurrent, onFocus, ...actions }: Props) {
    const { agent, unreadable, via } = column
    const isBad = unreadable !== null && via === 'direct'
    const link = {
      tabIndex: isCurrent ? 0 : -1,
      'data-at': `0:${index}`,
      onFocus: () => onFocus({ row: 0, column: index }),
    }
    return (
      // biome-ignore lint/a11y/useFocusableInteractive: the menu has the focus
      // biome-ignore lint/a11y/useSemanticElements: a grid with one Tab stop is not a table
      <div role="columnheader" className={gridCss.head}>
        <div className={css.name}>
          <Monogram name={agent.name} />
          <b>{agent.name}</b>
        </div>
        {isBad ? (
          <Unreadable column={column} target={link} />
        ) : (
          <>
            <SizeText {...size} />
            {agent.drift.length > 0 && (
              <Link
                href={`/agents/${agent.agent_type}?drift=1`}
                className={`xs warn ${css.drift}`}
                tabIndex={-1} // the menu has the same
                aria-label={t('driftOf', { agent: agent.name })}
              >
                <Glyph name="look" />
                {t('drifted')}
              </Link>
            )}
            <div className={`row xs muted ${css.foot}`}>
              <span>{t(via === 'gateway' ? 'viaGatewayNow' : 'directLater')}</span>
              <ColumnMenu grid={grid} column={column} target={link} {...actions} />
            </div>
          </>
        )}
      </div>
    )
  },
  // What it can do depends on the grid, too, which is another object after every change.
  (before, after) =>
    before.grid === after.grid &&
    before.size === after.size &&
    before.index === after.index &&
    before.isCurrent === after.isCurrent,
)

function SizeText({ before, after, share }: Size) {
  return (
    <>
      <div className={`row xs ${css.size}`}>
        {after.isUnknown ? (
          <span className="muted">{t('toolsNotKnown')}</span>
        ) : before.tools === after.tools ? (
          <span>{t('tools', { count: after.tools })}</span>
        ) : (
          <span>
            <span className="muted">{before.tools} →</span> <span className="info strong">{after.tools}</span>{' '}
            {t('toolsWord')}
          </span>
        )}
        {!after.isUnknown && (
          <span className="muted cut">· {t('tokensShort', { tokens: tokens(after.tokens) })}</span>
        )}
      </div>
      <div className={css.bar} aria-hidden="true">
        <i style={{ width: `${100 * share}%` }} />
      </div>
    </>
  )
}
