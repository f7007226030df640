import { Modal } from '@mantine/core'
import { useState } from 'react'
import {
  type FileAction,
  type FileOutcome,
  refreshAgents,
  runFileAction,
  useFileAction,
} from '../../data/agent-files.ts'
import { texts } from '../../i18n/texts.ts'
import { Act } from '../controls/Act.tsx'
import { Seg } from '../controls/Seg.tsx'
import { showDone, showFailure } from '../controls/toasts.tsx'
import { ErrorState } from '../states/ErrorState.tsx'
import { Skeleton } from '../states/Skeleton.tsx'
import { BeforeAfter } from './BeforeAfter.tsx'
import { DiffView } from './DiffView.tsx'
import css from './FileChange.module.css'

const t = texts('file-change', {
  backup: 'Backup',
  backupText: 'The file as it is now is kept. Undo brings back every byte.',
  comments: 'Comments, order',
  commentsText: 'kept as they are; nothing else in the file changes',
  afterwards: 'Then',
  note: 'Note',
  cancel: 'Cancel',
  write: { one: 'Write to {count} file', other: 'Write to {count} files' },
  nothing: 'Nothing would change.',
  secrets: 'Secrets are shown as ***.',
  servers: 'Servers',
  had: 'Those it had',
  all: 'Follow all servers',
})

interface Facts {
  readonly reload: string | null
  readonly warnings: readonly string[]
}

/** What happens around a write: the backup, what stays, and what the user has to do then. */
export function FileFacts({ reload, warnings }: Facts) {
  return (
    <dl className={css.facts}>
      <dt>{t('backup')}</dt>
      <dd>{t('backupText')}</dd>
      <dt>{t('comments')}</dt>
      <dd>{t('commentsText')}</dd>
      {reload && (
        <>
          <dt>{t('afterwards')}</dt>
          <dd>{reload.charAt(0).toUpperCase() + reload.slice(1)}</dd>
        </>
      )}
      {warnings.map((warning) => (
        <div key={warning} className={css.warning}>
          <dt>{t('note')}</dt>
          <dd className="warn">{warning}</dd>
        </div>
      ))}
    </dl>
  )
}

interface Props {
  readonly title: string
  readonly action: FileAction
  readonly onClose: () => void
}

/** One file: its diff, what the agent can use before and after, and what happens around the write. */
export function FilePreview({ file }: { readonly file: FileOutcome }) {
  const { path, diff, reload_hint, warnings, gateway } = file
  return (
    <section aria-label={path} className={gateway ? css.halves : undefined}>
      <div>
        <DiffView path={path} diff={diff} />
        <FileFacts reload={reload_hint} warnings={warnings} />
      </div>
      {gateway && <BeforeAfter change={gateway} />}
    </section>
  )
}

/** Which servers an agent sees after it is connected. */
export function FollowChoice({
  all,
  onChange,
}: {
  readonly all: boolean
  readonly onChange: (all: boolean) => void
}) {
  const options = [
    { value: 'had', label: t('had') },
    { value: 'all', label: t('all') },
  ] as const
  return (
    <div className={css.choice}>
      <span className="muted">{t('servers')}</span>
      <Seg
        label={t('servers')}
        options={options}
        value={all ? 'all' : 'had'}
        onChange={(value) => onChange(value === 'all')}
      />
    </div>
  )
}

/** Shows what a change of an agent's file would do, and does it. */
export function FileChangeDialog({ title, action: given, onClose }: Props) {
  const [all, setAll] = useState(false)
  const isConnect = given.kind === 'connect'
  const action = isConnect ? { ...given, all } : given
  const { data, error } = useFileAction(action)
  const [busy, setBusy] = useState(false)
  const changed = data?.filter((file) => file.changed) ?? []

  async function write(): Promise<void> {
    setBusy(true)
    try {
      await runFileAction(action, false)
      showDone(title, changed[0]?.reload_hint ?? '')
      onClose()
      await refreshAgents()
    } catch (failure) {
      showFailure(failure)
      setBusy(false)
    }
  }

  return (
    <Modal opened onClose={onClose} title={title} size={isConnect ? 1180 : 780}>
      <div className={css.files}>
        {isConnect && <FollowChoice all={all} onChange={setAll} />}
        {error && <ErrorState error={error} />}
        {!data && !error && <Skeleton rows={5} height={20} />}
        {data && changed.length === 0 && <p className="muted">{t('nothing')}</p>}
        {changed.map((file) => (
          <FilePreview key={file.path} file={file} />
        ))}
      </div>
      <div className="dialog-foot">
        <span className="muted sm grow">{t('secrets')}</span>
        <Act look="quiet" size="md" onClick={onClose}>
          {t('cancel')}
        </Act>
        <Act
          look="main"
          size="md"
          changes
          busy={busy}
          blocked={changed.length === 0 ? t('nothing') : undefined}
          onClick={() => void write()}
        >
          {t('write', { count: Math.max(1, changed.length) })}
        </Act>
      </div>
    </Modal>
  )
}
