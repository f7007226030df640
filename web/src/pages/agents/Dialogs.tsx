import { Modal, Select, TextInput } from '@mantine/core'
import { type FormEvent, useState } from 'react'
import { savePreset } from '../../data/agent-tools.ts'
import { useAgents } from '../../data/agents.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { FileChangeDialog } from '../../parts/content/FileChange.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import css from './Dialogs.module.css'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'

interface PresetProps {
  readonly column: Column
  readonly servers: readonly string[]
  readonly onClose: () => void
}

/** The servers of a column get a name, and can be applied to any agent. */
export function PresetDialog({ column, servers, onClose }: PresetProps) {
  const [name, setName] = useState('')
  const isValid = /^[a-z0-9][a-z0-9._-]{0,63}$/.test(name)
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (!isValid) return
    savePreset(name, servers, column.via === 'gateway' ? column.agent.agent_type : undefined).then(
      () => {
        showDone(t('presetSaved', { name }))
        onClose()
      },
      (error: unknown) => showFailure(error),
    )
  }
  return (
    <Modal opened onClose={onClose} title={t('presetTitle', { agent: column.agent.name })} size={460}>
      <form onSubmit={submit} className={css.form}>
        <TextInput
          size="md"
          label={t('presetName')}
          description={t('presetHint')}
          value={name}
          onChange={({ currentTarget }) => setName(currentTarget.value)}
          autoComplete="off"
          data-autofocus
        />
        <p className="muted sm">{servers.join(', ') || '–'}</p>
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={onClose}>
            {t('cancel')}
          </Act>
          <Act look="main" size="md" type="submit" changes blocked={isValid ? undefined : t('presetHint')}>
            {t('save')}
          </Act>
        </div>
      </form>
    </Modal>
  )
}

/** An agent that was not found gets its file, with the entry of the gateway. */
export function AddAgentDialog({ onClose }: { readonly onClose: () => void }) {
  const short = useShort()
  const { data: agents = [] } = useAgents()
  const [chosen, setChosen] = useState<string | null>(null)
  const [isSure, setSure] = useState(false)
  const missing = agents.filter(({ installed, scopes }) => !installed && !scopes.some(({ exists }) => exists))
  const agent = missing.find(({ agent_type }) => agent_type === chosen)
  if (agent && isSure)
    return (
      <FileChangeDialog
        title={`${t('addTitle')}: ${agent.name}`}
        action={{ kind: 'connect', agent_type: agent.agent_type, create: true }}
        onClose={onClose}
      />
    )
  return (
    <Modal opened onClose={onClose} title={t('addTitle')} size={460}>
      <div className={css.form}>
        <p className="muted">{t('addText')}</p>
        <Select
          size="md"
          label={t('addPick')}
          searchable
          openOnFocus={false}
          value={chosen}
          data={missing.map(({ agent_type, name }) => ({ value: agent_type, label: name }))}
          onChange={setChosen}
        />
        {agent && <p className="mono muted">{short(agent.scopes[0]?.path ?? '')}</p>}
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={onClose}>
            {t('cancel')}
          </Act>
          <Act
            look="main"
            size="md"
            changes
            blocked={agent ? undefined : t('addPick')}
            onClick={() => setSure(true)}
          >
            {t('showDiff')}
          </Act>
        </div>
      </div>
    </Modal>
  )
}
