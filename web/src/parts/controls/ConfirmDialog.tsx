import { Modal, TextInput } from '@mantine/core'
import { type FormEvent, type ReactNode, useState } from 'react'
import { texts } from '../../i18n/texts.ts'
import { Act } from './Act.tsx'
import css from './ConfirmDialog.module.css'

const t = texts('confirm', { cancel: 'Cancel', type: 'Type {word} to confirm' })

interface Props {
  readonly title: string
  /** What exactly will happen. */
  readonly children: ReactNode
  /** A verb: "Uninstall and remove both". */
  readonly action: string
  /** The user has to type it. Only for what cannot be undone. */
  readonly word?: string
  readonly busy?: boolean
  readonly onConfirm: () => void
  readonly onClose: () => void
}

/** For what cannot be undone. Everything else is done at once and offers to undo it. */
export function ConfirmDialog({ title, children, action, word, busy = false, onConfirm, onClose }: Props) {
  const [typed, setTyped] = useState('')
  const isReady = word === undefined || typed.trim() === word
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (isReady) onConfirm()
  }
  return (
    <Modal opened onClose={onClose} title={title} size={460}>
      <form onSubmit={submit} className={css.form}>
        <div>{children}</div>
        {word !== undefined && (
          <TextInput
            label={t('type', { word })}
            size="md"
            value={typed}
            onChange={({ currentTarget }) => setTyped(currentTarget.value)}
            data-autofocus
            autoComplete="off"
          />
        )}
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={onClose}>
            {t('cancel')}
          </Act>
          <Act
            look="danger"
            size="md"
            type="submit"
            changes
            busy={busy}
            blocked={isReady ? undefined : t('type', { word: word ?? '' })}
          >
            {action}
          </Act>
        </div>
      </form>
    </Modal>
  )
}
