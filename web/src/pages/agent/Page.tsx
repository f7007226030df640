import { useState } from 'react'
import { Link, useLocation, useParams } from 'wouter'
import { type AgentView, type FileAction, useAgent } from '../../data/agent-files.ts'
import { useAgents } from '../../data/agents.ts'
import { ApiError } from '../../data/api.ts'
import { tokens } from '../../format/format.ts'
import { FileChangeDialog } from '../../parts/content/FileChange.tsx'
import { PageHead } from '../../parts/content/PageHead.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { flag, searchState, useSearchState } from '../../url/search-state.ts'
import css from './Agent.module.css'
import { DriftDialog, DriftStrip } from './Drift.tsx'
import { Entries } from './Entries.tsx'
import { Files } from './Files.tsx'
import { History } from './History.tsx'
import { t } from './messages.ts'

/** Whether the difference to what Toolroom wrote is open. */
const search = searchState({ drift: flag() })

interface Open {
  readonly title: string
  readonly action: FileAction
}

/** One agent: its files, their entries, what Toolroom wrote, and how it connects. */
export function Page() {
  const { agent_type = '' } = useParams()
  const { data: agent, error } = useAgent(agent_type)
  const [, navigate] = useLocation()
  const [open, setOpen] = useState<Open>()
  const [{ drift }, setSearch] = useSearchState(search)
  if (error instanceof ApiError && error.status === 404)
    return (
      <div className="page">
        <EmptyState title={t('unknown')} text={t('unknownText')}>
          <Act look="main" onClick={() => navigate('/agents')}>
            {t('back')}
          </Act>
        </EmptyState>
      </div>
    )
  const ask = (kind: FileAction['kind'], title: string) => () =>
    setOpen({ title: title.replace('…', ''), action: { kind, agent_type } })
  return (
    <div className="page">
      <Link href="/agents" className="sm">
        {t('back')}
      </Link>
      <PageHead
        tab={agent?.name ?? t('title')}
        title={
          <span className="row">
            {agent && <Monogram name={agent.name} />}
            {agent?.name ?? t('title')}
          </span>
        }
        count={agent && t(agent.installed ? 'installed' : 'notInstalled')}
      >
        <Connection agentType={agent_type} onAsk={ask} />
        <Act changes onClick={ask('restore', t('restore'))}>
          {t('restore')}
        </Act>
      </PageHead>
      {error && <ErrorState error={error} />}
      {!agent && !error && <Skeleton rows={8} />}
      {agent && <DriftStrip agent={agent} onOpen={() => setSearch({ drift: true }, { push: true })} />}
      {agent && (
        <div className={css.two}>
          <div className={css.side}>
            <Files agent={agent} />
            <Entries entries={agent.servers} />
            <History
              agentType={agent_type}
              onUndo={(title, backup_id) =>
                setOpen({ title, action: { kind: 'undo', agent_type, backup_id } })
              }
            />
          </div>
          <Facts agent={agent} />
        </div>
      )}
      {drift && agent && (
        <DriftDialog agentType={agent_type} name={agent.name} onClose={() => setSearch({ drift: false })} />
      )}
      {open && <FileChangeDialog {...open} onClose={() => setOpen(undefined)} />}
    </div>
  )
}

interface ConnectionProps {
  readonly agentType: string
  readonly onAsk: (kind: FileAction['kind'], title: string) => () => void
}

function Connection({ agentType, onAsk }: ConnectionProps) {
  const { data: agents = [] } = useAgents()
  const via = agents.find(({ agent_type }) => agent_type === agentType)?.connected_via
  return via === 'gateway' ? (
    <Act changes onClick={onAsk('disconnect', t('disconnect'))}>
      {t('disconnect')}
    </Act>
  ) : (
    <Act changes onClick={onAsk('connect', t('connect'))}>
      {t('connect')}
    </Act>
  )
}

function Facts({ agent }: { readonly agent: AgentView }) {
  const { data: agents = [] } = useAgents()
  const seen = agents.find(({ agent_type }) => agent_type === agent.agent_type)
  const via = seen?.connected_via
  return (
    <section className={`card ${css.facts}`} aria-label={t('connections')}>
      <h2>{t('connections')}</h2>
      <p>{t(via === 'gateway' ? 'viaGateway' : via === 'direct' ? 'direct' : 'notConnected')}</p>
      <dl>
        <dt>{t('lastSeen')}</dt>
        <dd>{seen?.last_seen_at ? <Time at={seen.last_seen_at} exact /> : t('never')}</dd>
        {via === 'gateway' && seen?.visible && (
          <>
            <dt>{t('tools')}</dt>
            <dd>{t('toolsValue', { tools: seen.visible.tools, tokens: tokens(seen.visible.tokens) })}</dd>
          </>
        )}
        {agent.reload_hint && (
          <>
            <dt>{t('reload')}</dt>
            <dd>{agent.reload_hint}</dd>
          </>
        )}
        <dt>{t('transports')}</dt>
        <dd className="mono">{agent.transports.join(', ')}</dd>
      </dl>
      <Link href={`/traffic?q=agent:${agent.agent_type}`}>{t('traffic')}</Link>
      {agent.notes.map((note) => (
        <p key={note} className="muted sm">
          {note}
        </p>
      ))}
    </section>
  )
}
