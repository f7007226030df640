import { FileButton } from '@mantine/core'
import { useState } from 'react'
import { saveFile } from '../../data/api.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { copy } from '../../parts/controls/CopyAs.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Entry } from './Entry.tsx'
import { ExportDialog } from './ExportDialog.tsx'
import { type ExportedFile, exportedFileIn, ImportDialog } from './ImportDialog.tsx'
import { t } from './messages.ts'

/** Everything in one file, and back; and where a monitoring system reads. */
export function Transfer() {
  const [isSealing, setSealing] = useState(false)
  const [file, setFile] = useState<ExportedFile>()
  const read = async (chosen: File | null) => {
    if (!chosen) return
    const found = exportedFileIn(await chosen.text())
    if (found) setFile(found)
    else showFailure(new Error(t('notAFile')))
  }
  const prometheus = `${location.origin}/api/metrics/prometheus`
  return (
    <>
      <Entry name={t('exportName')} text={t('exportText')}>
        <Act icon="download" changes onClick={() => saveFile('/api/export', {}).catch(showFailure)}>
          {t('exportAction')}
        </Act>
        <Act icon="lock" changes onClick={() => setSealing(true)}>
          {t('exportSealed')}
        </Act>
      </Entry>
      <Entry name={t('importName')} text={t('importText')}>
        <FileButton accept="application/json,.json" onChange={(chosen) => void read(chosen)}>
          {({ onClick }) => (
            <Act icon="file" changes onClick={onClick}>
              {t('chooseFile')}
            </Act>
          )}
        </FileButton>
      </Entry>
      <Entry name={t('prometheus')} text={t('prometheusText')}>
        <code className="mono">{prometheus}</code>
        <Act icon="copy" onClick={() => copy(prometheus)}>
          {t('copyAddress')}
        </Act>
      </Entry>
      {isSealing && <ExportDialog onClose={() => setSealing(false)} />}
      {file && <ImportDialog file={file} onClose={() => setFile(undefined)} />}
    </>
  )
}
