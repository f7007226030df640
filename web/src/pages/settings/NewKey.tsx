import { Modal, Select, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { useAgents } from '../../data/agents.ts'
import { useCreateKey } from '../../data/settings.ts'
import { Act, IconAct } from '../../parts/controls/Act.tsx'
import { copy } from '../../parts/controls/CopyAs.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'

/** Creates a key for an agent that Toolroom does not write the file of. It is shown once. */
export function NewKey({ onClose }: { readonly onClose: () => void }) {
  const { data: agents = [] } = useAgents()
  const [agentType, setAgentType] = useState<string | null>(null)
  const [name, setName] = useState('')
  const create = useCreateKey()
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (agentType === null) return
    create.mutate({ agent_type: agentType, ...(name.trim() !== '' && { name: name.trim() }) })
  }
  if (create.data)
    return (
      <Modal opened onClose={onClose} title={t('newKeyTitle')} size={520} closeOnClickOutside={false}>
        <div className={css.form}>
          <p>{t('newKeyShown')}</p>
          <Shown label={t('key')} value={create.data.key} />
          <Shown label={t('gatewayAddress')} value={`${location.origin}/mcp`} />
          <p className="muted sm">{t.rich('newKeyUse', { header: <Header key="header" /> })}</p>
          <div className="dialog-foot">
            <Act look="main" size="md" onClick={onClose}>
              {t('done')}
            </Act>
          </div>
        </div>
      </Modal>
    )
  return (
    <Modal opened onClose={onClose} title={t('newKeyTitle')} size={520}>
      <form className={css.form} onSubmit={submit}>
        <p className="muted">{t('newKeyText')}</p>
        <Select
          label={t('agent')}
          size="md"
          searchable
          openOnFocus={false}
          data-autofocus
          data={agents.map((agent) => ({ value: agent.agent_type, label: agent.name }))}
          value={agentType}
          onChange={setAgentType}
        />
        <TextInput
          label={t('keyName')}
          description={t('keyNameText')}
          size="md"
          maxLength={100}
          value={name}
          error={create.error?.message}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
        />
        <div className="dialog-foot">
          <Act
            look="main"
            size="md"
            type="submit"
            changes
            busy={create.isPending}
            blocked={agentType === null ? t('chooseAgent') : undefined}
          >
            {t('createKey')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}

function Shown({ label, value }: { readonly label: string; readonly value: string }) {
  return (
    <div className={css.shown}>
      <TextInput
        label={label}
        size="md"
        readOnly
        value={value}
        classNames={{ root: 'grow', input: 'mono' }}
        onFocus={({ currentTarget }) => currentTarget.select()}
      />
      <IconAct icon="copy" label={t('copyOf', { name: label })} onClick={() => copy(value)} />
    </div>
  )
}

const Header = () => <code className="mono">{t('authorization')}</code>
