import { Modal } from '@mantine/core'
import {
  type ChangeReport,
  type FilePlan,
  isConflict,
  usePreview,
  usePreviewNow,
  useWritePlans,
} from '../../data/agent-files.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { DiffView } from '../../parts/content/DiffView.tsx'
import { FileFacts, offerUndo } from '../../parts/content/FileChange.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import { accept, countOf, discard, planOf } from './staged.ts'
import type { Grid } from './use-grid.ts'
import css from './WriteDialog.module.css'

/** The diff of every file, and the button that writes them. */
export function WriteDialog({ grid, onClose }: { readonly grid: Grid; readonly onClose: () => void }) {
  const writing = useWritePlans()
  const files = filesOf(grid)
  const count = countOf(grid.staged)
  const agents = files.map(({ column }) => column.agent.name).join(', ')

  function write(): void {
    const done: ChangeReport[] = []
    const written = (plan: FilePlan, report: ChangeReport) => {
      done.push(report)
      discard(plan.agent_type)
    }
    // The dialog is gone when nothing is staged any more, so this does not depend on it.
    writing
      .mutateAsync({ plans: files.map(({ plan }) => plan), written })
      .then(onClose, (error: unknown) => isConflict(error) || showFailure(error))
      .finally(() => done.length > 0 && offerUndo(t('wrote', { count: done.length }), done))
  }

  return (
    <Modal
      opened
      onClose={onClose}
      size={780}
      title={
        <span className="row">
          {t('writeTo', { count: files.length })}
          <span className={`muted ${css.sub}`}>{t('changesIn', { count, agents })}</span>
        </span>
      }
    >
      <div className={css.files}>
        {files.map(({ column, plan }) => (
          <FilePreview key={plan.agent_type} column={column} plan={plan} />
        ))}
      </div>
      <div className="dialog-foot">
        <span className="muted sm grow">{t('secretsNote')}</span>
        <Act look="quiet" size="md" onClick={onClose}>
          {t('cancel')}
        </Act>
        <Act look="main" size="md" changes busy={writing.isPending} onClick={write} autoFocus>
          {t('writeTo', { count: files.length })}
        </Act>
      </div>
    </Modal>
  )
}

export function filesOf({ columns, staged, servers, savedCellAt }: Grid) {
  return columns.flatMap((column) => {
    const file = staged.get(column.agent.agent_type)
    if (!file) return []
    const none = { state: 'off', side: null, isStaged: false, blocked: null, entries: [] } as const
    const cellFor = (id: string) => {
      const server = servers.find((each) => each.id === id)
      return server ? savedCellAt(server, column) : none
    }
    return [{ column, plan: planOf(column, file, cellFor) }]
  })
}

function FilePreview({ column, plan }: { readonly column: Column; readonly plan: FilePlan }) {
  const { data, error } = usePreview(plan)
  const conflict = isConflict(error)
  const now = usePreviewNow(plan, conflict)
  const path = useShort()(column.scope?.path ?? column.agent.name)
  if (conflict)
    return (
      <section className={css.conflict} aria-label={path}>
        <div role="alert">
          <CauseStrip tone="warn" sentence={t('conflict', { path })} evidence={null}>
            <Act
              size="xs"
              blocked={now.data ? undefined : t('now')}
              onClick={() => accept(plan.agent_type, column.scope?.revision ?? null)}
            >
              {t('acceptNow')}
            </Act>
          </CauseStrip>
        </div>
        <p className="muted sm">{t('conflictText')}</p>
        {data && (
          <>
            <h3 className={css.version}>{t('before')}</h3>
            <DiffView path={path} diff={data.diff} />
          </>
        )}
        <h3 className={css.version}>{t('now')}</h3>
        {now.data ? <DiffView path={path} diff={now.data.diff} /> : <Skeleton rows={3} />}
        {now.error && <ErrorState error={now.error} />}
      </section>
    )
  if (error) return <ErrorState error={error} />
  if (!data) return <Skeleton rows={6} height={20} />
  return (
    <section aria-label={path}>
      <DiffView path={path} diff={data.diff} />
      <FileFacts reload={data.reload_hint} warnings={data.warnings} />
    </section>
  )
}
