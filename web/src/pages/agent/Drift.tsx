import { Modal } from '@mantine/core'
import { type AgentView, type Keep, useDrift, useKeep } from '../../data/agent-files.ts'
import { DiffView } from '../../parts/content/DiffView.tsx'
import change from '../../parts/content/FileChange.module.css'
import { offerUndo } from '../../parts/content/FileChange.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone } from '../../parts/controls/toasts.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { FormError } from '../../parts/states/FormError.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'

/** Another program has changed what Toolroom wrote for this agent. */
export function DriftStrip({ agent, onOpen }: { readonly agent: AgentView; readonly onOpen: () => void }) {
  const names = [...new Set(agent.drift.map(({ name }) => name))]
  if (names.length === 0) return null
  return (
    <CauseStrip tone="warn" sentence={t('drift')} evidence={names.join(', ')}>
      <Act onClick={onOpen}>{t('seeDifference')}</Act>
    </CauseStrip>
  )
}

interface Props {
  readonly agentType: string
  readonly name: string
  readonly onClose: () => void
}

/** What writing Toolroom's entries again would change, and the two ways to settle it. */
export function DriftDialog({ agentType, name, onClose }: Props) {
  const { data: files, error } = useDrift(agentType)
  const keep = useKeep(agentType)
  const settle = (version: Keep) => () =>
    keep.mutate(
      { version, shown: files ?? [] },
      {
        onSuccess: (done) => {
          onClose()
          if (version === 'toolroom') offerUndo(t('keptWritten', { name }), done)
          else showDone(t('keptFile', { name }), done.flatMap(({ warnings }) => warnings).join(' '))
        },
      },
    )
  const written = files?.filter(({ changed }) => changed) ?? []
  return (
    <Modal opened onClose={onClose} title={t('driftTitle', { name })} size={780}>
      <div className={change.files}>
        {error && <ErrorState error={error} />}
        {!files && !error && <Skeleton rows={5} height={20} />}
        {files?.length === 0 && <p className="muted">{t('noDrift')}</p>}
        {files && files.length > 0 && <p>{t('driftText')}</p>}
        {files?.map(({ path, diff, changed, warnings }) => (
          <section key={path} aria-label={path}>
            {changed && <DiffView path={path} diff={diff} />}
            {warnings.map((warning) => (
              <p key={warning} className="warn">
                {warning}
              </p>
            ))}
          </section>
        ))}
        <FormError error={keep.error} />
      </div>
      {files && files.length > 0 && (
        <div className="dialog-foot">
          <span className="muted sm grow">{t('secretsNote')}</span>
          <Act look="quiet" size="md" onClick={onClose}>
            {t('cancel')}
          </Act>
          <Act size="md" changes busy={keep.isPending} onClick={settle('file')}>
            {t('keepFile')}
          </Act>
          <Act
            look="main"
            size="md"
            changes
            busy={keep.isPending}
            blocked={written.length === 0 ? t('notKnown') : undefined}
            onClick={settle('toolroom')}
          >
            {t('keepWritten')}
          </Act>
        </div>
      )}
    </Modal>
  )
}
