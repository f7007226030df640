import { Modal, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useSaveCall } from '../../data/playground/saved-calls.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { t } from './messages.ts'
import css from './Playground.module.css'

interface Props {
  readonly server: string
  readonly tool: string
  readonly args: unknown
  readonly onClose: () => void
}

/** Gives the call a name and keeps it, encrypted. */
export function SaveDialog({ server, tool, args, onClose }: Props) {
  const [name, setName] = useState(tool)
  const save = useSaveCall()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    const call = { name, server_id: server, tool, arguments: args as Record<string, unknown> }
    save.mutate(call, {
      onSuccess: () => {
        showDone(t('savedAs', { name }))
        onClose()
      },
      onError: (error) => showFailure(error),
    })
  }
  return (
    <Modal opened onClose={onClose} title={t('saveTitle')} size={420}>
      <form onSubmit={submit} className={css.dialog}>
        <TextInput
          label={t('saveName')}
          size="md"
          data-autofocus
          autoComplete="off"
          maxLength={100}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={onClose}>
            {t('cancel')}
          </Act>
          <Act look="main" size="md" type="submit" changes busy={save.isPending}>
            {t('save')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}
