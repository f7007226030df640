import { Modal } from '@mantine/core'
import { useState } from 'react'
import { applyPreset, usePresetPreview } from '../../data/agent-tools.ts'
import { count, tokens } from '../../format/format.ts'
import { BeforeAfterRow, BeforeAfterTable, ChangeNote } from '../../parts/content/BeforeAfterRow.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import css from './Dialogs.module.css'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'

interface Props {
  readonly column: Column
  readonly preset: string
  readonly onClose: () => void
}

/** What an agent sees at the gateway before and after a preset is applied to it. */
export function ApplyDialog({ column: { agent }, preset, onClose }: Props) {
  const { data, error } = usePresetPreview(agent.agent_type, preset)
  const [busy, setBusy] = useState(false)
  const apply = () => {
    setBusy(true)
    applyPreset(agent.agent_type, preset).then(
      () => {
        showDone(t('applied', { agent: agent.name, preset }), t('atOnceText'))
        onClose()
      },
      (failure: unknown) => {
        showFailure(failure)
        setBusy(false)
      },
    )
  }
  return (
    <Modal opened onClose={onClose} title={t('applyTitle', { agent: agent.name, preset })} size={560}>
      {error && <ErrorState error={error} />}
      {!data && !error && <Skeleton rows={4} height={28} />}
      {data && (
        <div className={css.change}>
          <BeforeAfterTable label={t('applyTitle', { agent: agent.name, preset })}>
            <BeforeAfterRow
              label={t('servers')}
              before={count(data.before.visible.servers)}
              after={
                data.servers === null ? t('andLater', { count: data.visible.servers }) : data.visible.servers
              }
              note={
                data.gained.length + data.lost.length === 0 && (
                  <ChangeNote tone="ok" text={t('noServerChange')} />
                )
              }
            />
            {data.gained.map((id) => (
              <BeforeAfterRow
                key={id}
                before="–"
                after={id}
                note={<ChangeNote tone="warn" text={t('gains')} />}
              />
            ))}
            {data.lost.map((id) => (
              <BeforeAfterRow key={id} before={id} after="–" note={t('loses')} />
            ))}
            <BeforeAfterRow
              label={t('toolsHead')}
              before={count(data.before.visible.tools)}
              after={count(data.visible.tools)}
              note={
                data.more_tools.length > 0 && (
                  <ChangeNote tone="warn" text={t('moreTools', { servers: data.more_tools.join(', ') })} />
                )
              }
            />
            <BeforeAfterRow
              label={t('tokensHead')}
              before={tokens(data.before.visible.tokens)}
              after={tokens(data.visible.tokens)}
            />
          </BeforeAfterTable>
        </div>
      )}
      {data?.warnings.map((warning) => (
        <p key={warning} className="warn sm">
          {warning}
        </p>
      ))}
      <div className="dialog-foot">
        <Act look="quiet" size="md" onClick={onClose}>
          {t('cancel')}
        </Act>
        <Act
          look="main"
          size="md"
          changes
          busy={busy}
          blocked={data?.changed ? undefined : t('sameAsPreset')}
          onClick={apply}
        >
          {t('apply')}
        </Act>
      </div>
    </Modal>
  )
}
