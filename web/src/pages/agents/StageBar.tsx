import { type FilePlan, usePreview } from '../../data/agent-files.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showUndo } from '../../parts/controls/toasts.tsx'
import { Monogram, Tag } from '../../parts/marks/Tag.tsx'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import css from './StageBar.module.css'
import { countOf, discardAll } from './staged.ts'
import type { Grid } from './use-grid.ts'
import { filesOf } from './WriteDialog.tsx'

interface Props {
  readonly grid: Grid
  readonly onShow: () => void
}

const NAMED = 2

/** What is not written yet. It stays in view, and is empty if there is nothing. */
export function StageBar({ grid, onShow }: Props) {
  const { staged } = grid
  const count = countOf(staged)
  const own = filesOf(grid)
  return (
    <div className={css.bar} data-open={count > 0 || undefined}>
      <b className={css.count} role="status">
        {count > 0 && t('changes', { count })}
      </b>
      {count > 0 && (
        <>
          <div className={css.files}>
            {own.map(({ column, plan }) => (
              <FileChanges key={plan.agent_type} grid={grid} column={column} plan={plan} />
            ))}
          </div>
          <div className={css.actions}>
            <Act
              look="quiet"
              onClick={() =>
                showUndo({ title: t('discarded'), text: t('discardedText'), onUndo: discardAll() })
              }
            >
              {t('discard')}
            </Act>
            <Act onClick={onShow}>{t('showDiff')}</Act>
            <Act look="main" changes onClick={onShow}>
              {t('writeTo', { count: own.length })}
            </Act>
          </div>
        </>
      )}
    </div>
  )
}

interface FileProps {
  readonly grid: Grid
  readonly column: Column
  readonly plan: FilePlan
}

function FileChanges({ grid, column, plan }: FileProps) {
  const { agent } = column
  usePreview(plan) // so that what was seen is known if another program changes the file
  const cells = [...(grid.staged.get(agent.agent_type)?.cells ?? [])]
  const nameOf = (id: string) => grid.servers.find((server) => server.id === id)?.name ?? id
  return (
    <div className={css.file}>
      <Monogram name={agent.name} />
      <span className={css.agent}>{agent.name}</span>
      {cells.slice(0, NAMED).map(([id, staged]) => (
        <Tag key={id} tone={staged === 'off' ? 'err' : 'ok'}>
          <span className="mono cut">
            {staged === 'off' ? '−' : '+'} {nameOf(id)}
          </span>
        </Tag>
      ))}
      {cells.length > NAMED && <span className="muted sm">+{cells.length - NAMED}</span>}
    </div>
  )
}
