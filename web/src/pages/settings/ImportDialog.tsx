import { Modal, PasswordInput } from '@mantine/core'
import { type FormEvent, useEffect, useState } from 'react'
import type { Schemas } from '../../data/api.ts'
import { namedOutgoing } from '../../data/outgoing.ts'
import { useImportFile } from '../../data/settings.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { OutgoingList } from '../../parts/server/OutgoingList.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'

type Input = Schemas['FileImportInput']
type Report = Schemas['FileImportReport']
export type ExportedFile = Input['file']

interface Props {
  readonly file: ExportedFile
  readonly onClose: () => void
}

/** Shows what an import would do, then does it. A file with secrets needs its passphrase first. */
export function ImportDialog({ file, onClose }: Props) {
  const [passphrase, setPassphrase] = useState<string>()
  const [report, setReport] = useState<Report>()
  const { mutate, isPending, error } = useImportFile()
  const isLocked = file.secrets !== null && report === undefined
  const body = (dry_run: boolean, given = passphrase): Input => ({
    file,
    dry_run,
    on_conflict: 'skip',
    ...(given !== undefined && { passphrase: given }),
  })
  useEffect(() => {
    if (file.secrets !== null) return
    mutate(
      { file, dry_run: true, on_conflict: 'skip' },
      {
        onSuccess: setReport,
        onError: (reason) => {
          onClose()
          showFailure(reason)
        },
      },
    )
  }, [file, mutate, onClose])
  const unlock = (given: string) => {
    setPassphrase(given)
    mutate(body(true, given), { onSuccess: setReport })
  }
  const asking = (report?.items ?? []).filter(
    ({ outgoing, outcome }) => outgoing.length > 0 && outcome === 'created',
  )
  const allow_outgoing = namedOutgoing(asking.flatMap(({ outgoing }) => outgoing))
  const go = () =>
    mutate(
      { ...body(false), allow_outgoing },
      {
        onSuccess: ({ items }) => {
          onClose()
          showDone(t('imported', { count: items.filter(({ outcome }) => outcome === 'created').length }))
        },
        onError: (reason) => showFailure(reason),
      },
    )
  const title = isLocked ? t('importLocked') : t('importTitle', { count: file.servers.length })
  return (
    <Modal opened onClose={onClose} title={title} size={460}>
      {isLocked && <Passphrase busy={isPending} error={error?.message} onGiven={unlock} />}
      {!isLocked && !report && <Skeleton rows={3} height={20} />}
      {report && (
        <>
          <ul className={css.plan}>
            {[...report.items, ...report.secrets].map(({ name, outcome, reason, notes }) => (
              <li key={name}>
                {t('importOutcome', { name, outcome: t(outcome) })}{' '}
                <span className="muted">{[reason, ...notes].filter(Boolean).join('. ')}</span>
              </li>
            ))}
          </ul>
          {asking.map(({ name, outgoing }) => (
            <div key={name}>
              <p className="warn">{t('importOutgoing', { name })}</p>
              <OutgoingList outgoing={outgoing} />
            </div>
          ))}
          <div className="dialog-foot">
            <Act look="main" size="md" changes busy={isPending} onClick={go}>
              {t('importAction')}
            </Act>
          </div>
        </>
      )}
    </Modal>
  )
}

interface PassphraseProps {
  readonly busy: boolean
  readonly error: string | undefined
  readonly onGiven: (passphrase: string) => void
}

function Passphrase({ busy, error, onGiven }: PassphraseProps) {
  const [typed, setTyped] = useState('')
  const submit = (event: FormEvent) => {
    event.preventDefault()
    onGiven(typed)
  }
  return (
    <form className={css.form} onSubmit={submit}>
      <p className="muted">{t('importLockedText')}</p>
      <PasswordInput
        label={t('passphrase')}
        size="md"
        autoComplete="off"
        data-autofocus
        value={typed}
        error={error}
        onChange={({ currentTarget }) => setTyped(currentTarget.value)}
      />
      <div className="dialog-foot">
        <Act look="main" size="md" type="submit" changes busy={busy}>
          {t('unlock')}
        </Act>
      </div>
    </form>
  )
}

/** The file that a text is, if Toolroom exported it. The service checks the rest. */
export function exportedFileIn(text: string): ExportedFile | undefined {
  try {
    const file = JSON.parse(text)
    return file?.format === 'toolroom-export' && Array.isArray(file.servers) ? file : undefined
  } catch {
    return undefined
  }
}
