import { Checkbox, Modal } from '@mantine/core'
import { useQueries } from '@tanstack/react-query'
import { type FormEvent, useState } from 'react'
import { useFoundAgents } from '../../data/agents.ts'
import type { Agent } from '../../data/api.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { needsFile, previewEntries, useEnableIn } from '../../data/server/enable-in.ts'
import type { Server } from '../../data/servers.ts'
import { DiffView } from '../content/DiffView.tsx'
import { Act } from '../controls/Act.tsx'
import { showDone } from '../controls/toasts.tsx'
import { FormError } from '../states/FormError.tsx'
import css from './EnableDialog.module.css'
import { t } from './messages.ts'

interface Props {
  readonly servers: readonly Pick<Server, 'id' | 'name'>[]
  readonly chosen?: readonly string[]
  readonly onClose: () => void
}

/** Servers for agents: which agents, what changes in each file, then the write. */
export function EnableDialog({ servers, chosen: first = [], onClose }: Props) {
  const { data: agents = [] } = useFoundAgents()
  const [chosen, setChosen] = useState<readonly string[]>(first)
  const enable = useEnableIn()
  const ids = servers.map(({ id }) => id)
  const picked = agents.filter(({ agent_type }) => chosen.includes(agent_type))
  const files = picked.filter(needsFile)
  const previews = useQueries({
    queries: files.map((agent) => ({
      queryKey: ['agents', 'preview', agent.agent_type, ids],
      queryFn: () => previewEntries(agent, ids),
    })),
  })
  const failed = previews.find(({ error }) => error)?.error ?? enable.error
  const submit = (event: FormEvent) => {
    event.preventDefault()
    if (picked.length === 0) return
    enable.mutate(
      { agents: picked, ids },
      {
        onSuccess: () => {
          const hints = picked.flatMap(({ name, reload_hint }) =>
            reload_hint ? [t('reload', { agent: name, hint: reload_hint })] : [],
          )
          showDone(t('written', { agents: picked.map(({ name }) => name).join(', ') }), hints.join('; '))
          onClose()
        },
      },
    )
  }
  const title = t('enableTitle', { count: servers.length, name: servers[0]?.name ?? '' })
  return (
    <Modal opened onClose={onClose} title={title} size={640}>
      <form className={css.form} onSubmit={submit}>
        {agents.length === 0 && <p className="muted">{t('noAgents')}</p>}
        <div className={css.agents}>
          {agents.map((agent) => (
            <AgentBox
              key={agent.agent_type}
              agent={agent}
              isChosen={chosen.includes(agent.agent_type)}
              onChange={(on) =>
                setChosen(
                  on ? [...chosen, agent.agent_type] : chosen.filter((each) => each !== agent.agent_type),
                )
              }
            />
          ))}
        </div>
        {previews.map(({ data }) => data && <DiffView key={data.path} path={data.path} diff={data.diff} />)}
        <FormError error={failed} />
        {files.length > 0 && <p className="muted sm">{t('backups')}</p>}
        <div className="dialog-foot">
          <Act look="quiet" size="md" onClick={onClose}>
            {t('cancel')}
          </Act>
          <Act
            look="main"
            size="md"
            type="submit"
            changes
            busy={enable.isPending}
            blocked={picked.length === 0 ? t('pick') : undefined}
          >
            {files.length === 0 ? t('allow') : t('write', { count: files.length })}
          </Act>
        </div>
      </form>
    </Modal>
  )
}

interface BoxProps {
  readonly agent: Agent
  readonly isChosen: boolean
  readonly onChange: (on: boolean) => void
}

function AgentBox({ agent, isChosen, onChange }: BoxProps) {
  const short = useShort()
  const file = agent.scopes.find(({ scope }) => scope === 'user') ?? agent.scopes[0]
  const isUnreadable = file?.parse_error !== null && file?.parse_error !== undefined
  return (
    <div className={css.agent}>
      <Checkbox
        label={agent.name}
        checked={isChosen}
        disabled={isUnreadable}
        onChange={({ currentTarget }) => onChange(currentTarget.checked)}
      />
      <span className={`sm muted ${needsFile(agent) && !isUnreadable ? 'mono' : ''}`}>
        {isUnreadable ? t('unreadable') : needsFile(agent) ? short(file?.path ?? '') : t('gateway')}
      </span>
    </div>
  )
}
