import { Checkbox, Modal, TextInput } from '@mantine/core'
import { type FormEvent, useRef, useState } from 'react'
import { useSaveVariable } from '../../data/server/server-changes.ts'
import { useServer, useStart } from '../../data/servers.ts'
import { useSaveSecret, useSecrets } from '../../data/settings.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone } from '../../parts/controls/toasts.tsx'
import { labelOf } from '../../parts/repair/repairs.ts'
import { StartOutcome } from '../../parts/repair/StartOutcome.tsx'
import { closeValueDialog, useWantedValue, type WantedValue } from '../../parts/repair/value-dialog.ts'
import { FormError } from '../../parts/states/FormError.tsx'
import { t } from '../messages.ts'
import css from './TokenDialog.module.css'

/** Sets a named secret, or a variable of a server, and starts the server that lacks it. */
export function ValueDialog() {
  const wanted = useWantedValue()
  if (!wanted) return null
  const { action, server } = wanted
  return <Form key={[action.kind, action.name, server?.id].join()} {...wanted} />
}

/** What the name of a variable with a secret contains. */
const SECRET = /key|token|secret|pass|auth|cred|pat$/i
const REFERENCE = /\$\{(?:env|secret):/

function Form({ action, server: given }: WantedValue) {
  const { name } = action
  const isVariable = action.kind === 'set_variable'
  const [value, setValue] = useState('')
  const [isStarting, setStarting] = useState(true)
  const [isKept, setKept] = useState(SECRET.test(name))
  const secrets = useSecrets()
  const ownSecret = useRef<string>(undefined)
  const secret = ownSecret.current ?? freeName(name, secrets.data?.items ?? [])
  const { server } = useServer(given?.id ?? '')
  // An HTTP server is connected again by the service itself.
  const local = server?.type === 'stdio' ? server : undefined
  const starts = local !== undefined && isStarting
  const storesSecret = isVariable && isKept && !REFERENCE.test(value)
  const saveSecret = useSaveSecret()
  const saveVariable = useSaveVariable()
  const start = useStart()
  const error = saveSecret.error ?? saveVariable.error
  const isBusy = saveSecret.isPending || saveVariable.isPending || start.isPending

  const saved = () => {
    if (!starts) {
      closeValueDialog()
      showDone(t(isVariable ? 'variableStored' : 'secretStored', { name }))
      return
    }
    start.mutate(local.id, {
      onSuccess: ({ status, tool_count }) => {
        closeValueDialog()
        showDone(
          t(isVariable ? 'variableStored' : 'secretStored', { name }),
          status === 'starting'
            ? t('serverStarting', { name: local.name })
            : t('serverRuns', { name: local.name, count: tool_count ?? 0 }),
        )
      },
    })
  }
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (value === '' || isBusy) return
    start.reset()
    if (!isVariable) saveSecret.mutate({ name, value }, { onSuccess: saved })
    else if (local) {
      if (storesSecret) ownSecret.current = secret
      saveVariable.mutate(
        { server: local, name, value, secret: storesSecret ? secret : undefined },
        { onSuccess: saved },
      )
    }
  }
  const isTyped = value !== '' // it is not lost by a click beside the dialog
  return (
    <Modal
      opened
      onClose={closeValueDialog}
      closeOnClickOutside={!isTyped}
      closeOnEscape={!isTyped}
      title={labelOf(action)}
      size={460}
    >
      <form onSubmit={submit} className={css.form} autoComplete="off">
        <TextInput
          type={isVariable && !isKept ? 'text' : 'password'}
          size="md"
          label={t('secretValue')}
          description={
            isVariable
              ? local && t('variableHint', { server: local.name })
              : t('secretHint', { reference: `$\{secret:${name}}` })
          }
          autoComplete="off"
          value={value}
          onChange={({ currentTarget }) => setValue(currentTarget.value)}
          data-autofocus
        />
        {isVariable && (
          <Checkbox
            label={t('keepSecret')}
            description={t('keepSecretHint', { reference: `$\{secret:${secret}}` })}
            checked={isKept}
            onChange={({ currentTarget }) => setKept(currentTarget.checked)}
          />
        )}
        {local && (
          <Checkbox
            label={t('startAfter', { name: local.name })}
            checked={isStarting}
            onChange={({ currentTarget }) => setStarting(currentTarget.checked)}
          />
        )}
        <FormError error={error} />
        {start.error && local && <StartOutcome server={local} done={action} onOpen={closeValueDialog} />}
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={closeValueDialog}>
            {t(start.error ? 'close' : 'cancel')}
          </Act>
          <Act
            look="main"
            size="md"
            type="submit"
            changes
            busy={isBusy || (storesSecret && secrets.isPending)}
          >
            {t(starts ? 'storeAndStart' : 'storeSecret')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}

/** A secret of another server keeps its value. */
function freeName(name: string, secrets: readonly { readonly name: string }[]): string {
  const taken = new Set(secrets.map((secret) => secret.name))
  if (!taken.has(name)) return name
  for (let number = 2; ; number += 1) if (!taken.has(`${name}-${number}`)) return `${name}-${number}`
}
