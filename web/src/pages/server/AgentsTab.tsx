import { useState } from 'react'
import { Link } from 'wouter'
import type { Server } from '../../data/servers.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import { EnableDialog } from '../../parts/server/EnableDialog.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { t } from './messages.ts'
import css from './Server.module.css'
import { useAgentsOf } from './users.ts'

/** Which agents use it, and how. */
export function AgentsTab({ server }: { readonly server: Server }) {
  const [isEnabling, setEnabling] = useState(false)
  const { users, error } = useAgentsOf(server.id)
  if (error) return <ErrorState error={error} />
  return (
    <section className="card" aria-label={t('agents')}>
      <div className="card-head">
        <h2>{t('agents')}</h2>
        <span className="right row">
          <Link href="/agents" className="sm">
            {t('grid')}
          </Link>
          <Act size="xs" changes onClick={() => setEnabling(true)}>
            {t('enableIn')}
          </Act>
        </span>
      </div>
      {users.length === 0 && <p className={`muted ${css.agent}`}>{t('noAgents')}</p>}
      <ul>
        {users.map(({ agent, via, tools }) => (
          <li key={agent.agent_type} className={css.agent}>
            <Monogram name={agent.name} />
            <Link href={`/agents/${agent.agent_type}`}>{agent.name}</Link>
            <span className="muted right">{via === null ? t('notUsed') : t(via)}</span>
            {tools !== null && <span className="muted">{t('sees', { count: tools })}</span>}
          </li>
        ))}
      </ul>
      {isEnabling && <EnableDialog servers={[server]} onClose={() => setEnabling(false)} />}
    </section>
  )
}
