import { Checkbox, Modal, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useServerAction } from '../../data/servers.ts'
import { useSaveSecret } from '../../data/settings.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { closeSecretDialog, useWantedSecret, type WantedSecret } from '../../parts/repair/secret-dialog.ts'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { t } from '../messages.ts'
import css from './TokenDialog.module.css'

/** Sets a named secret, and starts the server that lacks it. */
export function SecretDialog() {
  const wanted = useWantedSecret()
  return wanted ? <Form key={wanted.name} {...wanted} /> : null
}

function Form({ name, server }: WantedSecret) {
  const [value, setValue] = useState('')
  const [isStarting, setStarting] = useState(true)
  const save = useSaveSecret()
  const action = useServerAction()
  // An HTTP server is connected again by the service itself.
  const local = server?.type === 'stdio' ? server : undefined
  const starts = local !== undefined && isStarting
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (value === '') return
    save.mutate(
      { name, value },
      {
        onSuccess: () => {
          closeSecretDialog()
          showDone(t('secretStored', { name }), starts ? t('secretStarting', { name: local.name }) : '')
          if (starts)
            action.mutate(
              { id: local.id, action: 'restart' },
              { onError: (error: unknown) => showFailure(error) },
            )
        },
      },
    )
  }
  const isTyped = value !== '' // it is not lost by a click beside the dialog
  return (
    <Modal
      opened
      onClose={closeSecretDialog}
      closeOnClickOutside={!isTyped}
      closeOnEscape={!isTyped}
      title={t('setSecret', { name })}
      size={460}
    >
      <form onSubmit={submit} className={css.form} autoComplete="off">
        <TextInput
          type="password"
          size="md"
          label={t('secretValue')}
          description={t('secretHint', { reference: `$\{secret:${name}}` })}
          autoComplete="off"
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
          data-autofocus
        />
        {local && (
          <Checkbox
            label={t('startAfter', { name: local.name })}
            checked={isStarting}
            onChange={({ currentTarget }) => setStarting(currentTarget.checked)}
          />
        )}
        {save.error && <ErrorState error={save.error} />}
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={closeSecretDialog}>
            {t('cancel')}
          </Act>
          <Act look="main" size="md" type="submit" changes busy={save.isPending}>
            {t(starts ? 'storeAndStart' : 'storeSecret')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}
