import { Checkbox } from '@mantine/core'
import { useFoundAgents } from '../../data/agents.ts'
import type { Agent } from '../../data/api.ts'
import { useShort } from '../../data/live/home-folder.ts'
import { followsAll, usesGateway } from '../../data/server/enable-in.ts'
import css from './EnableDialog.module.css'
import { t } from './messages.ts'

interface Props {
  /** Undefined: those that follow all servers. */
  readonly chosen: readonly string[] | undefined
  readonly onChange: (chosen: readonly string[]) => void
  /** Only agents that need no change of their file. */
  readonly gatewayOnly?: boolean
}

/** For which agents a new server is on. An agent with a choice of its own is off unless it is ticked. */
export function AgentChoice({ chosen, onChange, gatewayOnly = false }: Props) {
  const { data: found = [] } = useFoundAgents()
  const agents = gatewayOnly ? found.filter((agent) => usesGateway(agent) && !agent.keeps_names) : found
  const on = chosen ?? followersIn(agents)
  const leaving = agents.filter((agent) => followsAll(agent) && !on.includes(agent.agent_type))
  if (agents.length === 0) return <p className="muted sm">{t(gatewayOnly ? 'noneConnected' : 'noAgents')}</p>
  return (
    <div className={css.agents}>
      <p className="muted sm">{t('seenBy')}</p>
      {agents.map((agent) => (
        <div key={agent.agent_type} className={css.agent}>
          <Checkbox
            label={agent.name}
            checked={on.includes(agent.agent_type)}
            onChange={({ currentTarget: { checked } }) =>
              onChange(checked ? [...on, agent.agent_type] : on.filter((each) => each !== agent.agent_type))
            }
          />
          <How agent={agent} />
        </div>
      ))}
      {leaving.length > 0 && (
        <p className="warn sm">
          {t('leaving', { count: leaving.length, agents: leaving.map(({ name }) => name).join(', ') })}
        </p>
      )}
    </div>
  )
}

const followersIn = (agents: readonly Agent[]): string[] =>
  agents.flatMap((agent) => (followsAll(agent) ? [agent.agent_type] : []))

function How({ agent }: { readonly agent: Agent }) {
  const short = useShort()
  const file = agent.scopes.find(({ scope }) => scope === 'user') ?? agent.scopes[0]
  if (usesGateway(agent) && !agent.keeps_names)
    return <span className="sm muted">{t(followsAll(agent) ? 'follows' : 'ownChoice')}</span>
  if (file?.parse_error) return <span className="sm muted">{t('unreadable')}</span>
  const path = (
    <span key="file" className="mono">
      {short(file?.path ?? '')}
    </span>
  )
  return <span className="sm muted">{t.rich('writesFile', { file: path })}</span>
}
