import { Modal, PasswordInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { signIn } from '../../data/session.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { closeTokenDialog, useTokenDialog } from '../../parts/controls/token-dialog.ts'
import { t } from '../messages.ts'
import css from './TokenDialog.module.css'

export function TokenDialog() {
  const isOpen = useTokenDialog()
  return (
    <Modal opened={isOpen} onClose={closeTokenDialog} title={t('tokenTitle')} size={460}>
      {isOpen && <TokenForm />}
    </Modal>
  )
}

function TokenForm() {
  const [token, setToken] = useState('')
  const [error, setError] = useState<string>()
  const [isBusy, setBusy] = useState(false)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    setBusy(true)
    void signIn(token.trim()).then((problem) => {
      setBusy(false)
      if (problem === undefined) closeTokenDialog()
      else setError(problem)
    })
  }
  const file = (
    <code key="file" className="mono">
      token
    </code>
  )
  return (
    <form onSubmit={submit} className={css.form}>
      <p className="muted">{t.rich('tokenText', { file })}</p>
      <PasswordInput
        label={t('tokenLabel')}
        size="md"
        value={token}
        onChange={({ currentTarget }) => setToken(currentTarget.value)}
        error={error}
        data-autofocus
        autoComplete="off"
        spellCheck={false}
      />
      <div className="dialog-foot">
        <Act look="quiet" size="md" onClick={closeTokenDialog}>
          {t('cancel')}
        </Act>
        <Act look="main" size="md" type="submit" busy={isBusy}>
          {t('tokenUse')}
        </Act>
      </div>
    </form>
  )
}
