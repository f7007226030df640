import { Modal } from '@mantine/core'
import { useState } from 'react'
import {
  type FileAction,
  type FileOutcome,
  refreshAgents,
  runFileAction,
  undoWrite,
  useFileAction,
  type WrittenFile,
} from '../../data/agent-files.ts'
import { useAgents } from '../../data/agents.ts'
import { remember } from '../../data/browser/undo-steps.ts'
import { texts } from '../../i18n/texts.ts'
import { Act } from '../controls/Act.tsx'
import { Seg } from '../controls/Seg.tsx'
import { showDone, showFailure, showUndo } from '../controls/toasts.tsx'
import { FormError } from '../states/FormError.tsx'
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
  undone: 'The file is as it was before',
  cancel: 'Cancel',
  write: { one: 'Write to {count} file', other: 'Write to {count} files' },
  nothing: 'Nothing would change.',
  secrets: 'Secrets are shown as ***.',
  restores: '{disconnect} restores the file byte for byte.',
  disconnect: 'Disconnect',
  files: { one: '{count} file changes.', other: '{count} files change.' },
  keeps: { one: '{agent} keeps its server.', other: '{agent} keeps its {count} servers.' },
  servers: 'Servers',
  had: 'Those it had',
  hadCount: { one: 'The one it had', other: 'The {count} it had' },
  all: 'Follow all servers',
  names: 'Tool names',
  oneEntry: 'One entry, new names',
  perServer: 'An entry per server, old names',
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

/** In a toast, and with Ctrl Z. The history of the agent keeps it afterwards. */
export function offerUndo(title: string, files: readonly WrittenFile[]): void {
  const written = files.filter(({ backup_id }) => backup_id !== null)
  const text = written.map(({ reload_hint }) => reload_hint).find((hint) => hint !== null) ?? t('backupText')
  if (written.length === 0) showDone(title)
  else
    showUndo({
      title,
      text,
      onUndo: remember(() => {
        Promise.all(written.map(undoWrite)).then(
          () => showDone(t('undone')),
          (error: unknown) => showFailure(error),
        )
      }),
    })
}

/** One file: its diff, what the agent can use before and after, and what happens around the write. */
export function FilePreview({ file }: { readonly file: FileOutcome }) {
  const { agent_type, path, diff, reload_hint, warnings, gateway } = file
  return (
    <section aria-label={path} className={css.file}>
      <div className={gateway ? css.halves : undefined}>
        <div>
          <DiffView path={path} diff={diff} />
          <FileFacts reload={reload_hint} warnings={warnings} />
        </div>
        {gateway && <BeforeAfter agentType={agent_type} change={gateway} />}
      </div>
    </section>
  )
}

/** What an agent sees after it is connected, and under which names. */
export interface ConnectChoice {
  /** All servers, also those that are added later, instead of those that it had. */
  readonly all: boolean
  /** An entry for each server, under its old name. It leads to the servers that the agent had. */
  readonly keepNames: boolean
}

interface ChoicesProps {
  readonly value: ConnectChoice
  /** The number of servers that it has now. */
  readonly had: number | undefined
  readonly onChange: (choice: ConnectChoice) => void
}

export function ConnectChoices({ value, had, onChange }: ChoicesProps) {
  return (
    <div className={css.choices}>
      <div className={css.choice}>
        <span className="muted">{t('servers')}</span>
        <Seg
          label={t('servers')}
          options={[
            { value: 'had', label: had === undefined ? t('had') : t('hadCount', { count: had }) },
            { value: 'all', label: t('all') },
          ]}
          value={value.all ? 'all' : 'had'}
          onChange={(servers) => onChange({ ...value, ...(servers === 'all' ? FOLLOWS : HAS) })}
        />
      </div>
      <div className={css.choice}>
        <span className="muted">{t('names')}</span>
        <Seg
          label={t('names')}
          options={[
            { value: 'new', label: t('oneEntry') },
            { value: 'old', label: t('perServer') },
          ]}
          value={value.keepNames ? 'old' : 'new'}
          onChange={(names) => onChange(names === 'old' ? KEEPS : { ...value, keepNames: false })}
        />
      </div>
    </div>
  )
}

export const CHOICE: ConnectChoice = { all: false, keepNames: false }
const HAS = { all: false } as const
/** All servers have no old names. */
const FOLLOWS = { all: true, keepNames: false } as const
const KEEPS = { all: false, keepNames: true } as const

/** Shows what a change of an agent's file would do, and does it. */
export function FileChangeDialog({ title, action: given, onClose }: Props) {
  const [choice, setChoice] = useState(CHOICE)
  const isConnect = given.kind === 'connect'
  const action = isConnect ? { ...given, ...choice } : given
  const { data, error } = useFileAction(action)
  const [busy, setBusy] = useState(false)
  const changed = data?.filter((file) => file.changed) ?? []

  async function write(): Promise<void> {
    setBusy(true)
    try {
      offerUndo(title, await runFileAction(action, false))
      onClose()
      await refreshAgents()
    } catch (failure) {
      showFailure(failure)
      setBusy(false)
    }
  }

  return (
    <Modal
      opened
      onClose={onClose}
      title={<Title title={title} files={changed} />}
      size={isConnect ? 1180 : 780}
    >
      <div className={css.files}>
        {isConnect && (
          <ConnectChoices value={choice} had={changed[0]?.gateway?.before.servers} onChange={setChoice} />
        )}
        <FormError error={error} />
        {!data && !error && <Skeleton rows={5} height={20} />}
        {data && changed.length === 0 && <p className="muted">{t('nothing')}</p>}
        {changed.map((file) => (
          <FilePreview key={file.path} file={file} />
        ))}
      </div>
      <div className="dialog-foot">
        <span className="muted sm grow">
          {t('secrets')} {isConnect && t.rich('restores', { disconnect: <b key="b">{t('disconnect')}</b> })}
        </span>
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

function Title({ title, files }: { readonly title: string; readonly files: readonly FileOutcome[] }) {
  const { data: agents = [] } = useAgents()
  const [file] = files
  const count = file?.gateway && file.gateway.gained.length === 0 ? file.gateway.before.servers : 0
  const agent = agents.find(({ agent_type }) => agent_type === file?.agent_type)?.name ?? ''
  return (
    <span className={css.title}>
      {title}
      {file && (
        <span className={css.sub}>
          {t('files', { count: files.length })} {count > 0 && t('keeps', { agent, count })}
        </span>
      )}
    </span>
  )
}
