import { FileButton, Modal } from '@mantine/core'
import { useState } from 'react'
import { type Schemas, saveFile } from '../../data/api.ts'
import { useImportFile } from '../../data/settings.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'

type Input = Schemas['FileImportInput']
type Report = Schemas['FileImportReport']

/** Everything in one file, and back. An import first shows what would happen. */
export function Transfer() {
  const [plan, setPlan] = useState<{ readonly file: Input['file']; readonly report: Report }>()
  const load = useImportFile()
  const onError = (error: unknown) => showFailure(error)
  const read = async (chosen: File | null) => {
    if (!chosen) return
    const file = parsed(await chosen.text())
    if (!file) return showFailure(new Error(t('notAFile')))
    load.mutate(bodyOf(file, true), { onSuccess: (report) => setPlan({ file, report }), onError })
  }
  const go = () =>
    plan &&
    load.mutate(bodyOf(plan.file, false), {
      onSuccess: ({ items }) => {
        setPlan(undefined)
        showDone(t('imported', { count: items.filter(({ outcome }) => outcome === 'created').length }))
      },
      onError,
    })
  return (
    <>
      <Entry name={t('exportName')} text={t('exportText')}>
        <Act icon="download" changes onClick={() => saveFile('/api/export', {}).catch(onError)}>
          {t('exportAction')}
        </Act>
      </Entry>
      <Entry name={t('importName')} text={t('importText')}>
        <FileButton accept="application/json,.json" onChange={(file) => void read(file)}>
          {({ onClick }) => (
            <Act icon="file" changes busy={load.isPending && !plan} onClick={onClick}>
              {t('chooseFile')}
            </Act>
          )}
        </FileButton>
      </Entry>
      <Entry name={t('prometheus')} text={t('prometheusText')}>
        <code className="mono">{`${location.origin}/api/metrics/prometheus`}</code>
      </Entry>
      {plan && (
        <Modal
          opened
          onClose={() => setPlan(undefined)}
          title={t('importTitle', { count: plan.report.total })}
          size={460}
        >
          <ul className={css.plan}>
            {plan.report.items.map(({ name, outcome, reason }) => (
              <li key={name}>
                {t('importOutcome', { name, outcome })} {reason && <span className="muted">{reason}</span>}
              </li>
            ))}
          </ul>
          <div className={css.planFoot}>
            <Act look="main" size="md" changes busy={load.isPending} onClick={go}>
              {t('importAction')}
            </Act>
          </div>
        </Modal>
      )}
    </>
  )
}

const bodyOf = (file: Input['file'], dry_run: boolean): Input => ({ file, dry_run, on_conflict: 'skip' })

function parsed(text: string): Input['file'] | undefined {
  try {
    const file = JSON.parse(text)
    return file?.format === 'toolroom-export' ? file : undefined
  } catch {
    return undefined
  }
}
