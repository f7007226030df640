import { Modal, PasswordInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { saveFile } from '../../data/api.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'

const USABLE = /^[\x20-\x7e]{12,256}$/

/** Asks twice for the passphrase: a file whose passphrase was mistyped could never be opened. */
export function ExportDialog({ onClose }: { readonly onClose: () => void }) {
  const [passphrase, setPassphrase] = useState('')
  const [again, setAgain] = useState('')
  const [isBusy, setBusy] = useState(false)
  const [isTried, setTried] = useState(false)
  const isUsable = USABLE.test(passphrase)
  const isSame = passphrase === again
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setTried(true)
    if (!isUsable || !isSame) return
    setBusy(true)
    const headers = { 'x-export-passphrase': passphrase }
    saveFile('/api/export', { include_secrets: 'true' }, headers)
      .then(onClose, showFailure)
      .finally(() => setBusy(false))
  }
  return (
    <Modal opened onClose={onClose} title={t('exportSealedTitle')} size={460}>
      <form className={css.form} onSubmit={submit}>
        <p className="muted">{t('exportSealedText')}</p>
        <PasswordInput
          label={t('passphrase')}
          description={t('passphraseRule')}
          size="md"
          autoComplete="new-password"
          data-autofocus
          value={passphrase}
          error={isTried && !isUsable && t('passphraseWrong')}
          onChange={({ currentTarget }) => setPassphrase(currentTarget.value)}
        />
        <PasswordInput
          label={t('passphraseAgain')}
          size="md"
          autoComplete="new-password"
          value={again}
          error={isTried && isUsable && !isSame && t('passphraseDiffers')}
          onChange={({ currentTarget }) => setAgain(currentTarget.value)}
        />
        <div className="dialog-foot">
          <Act look="main" size="md" type="submit" changes busy={isBusy}>
            {t('exportAction')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}
