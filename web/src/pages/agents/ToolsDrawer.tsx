import { Drawer, Switch } from '@mantine/core'
import { chooseTools, useAgentTools } from '../../data/agent-tools.ts'
import { type Server, useTools } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { tokens } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import css from './ToolsDrawer.module.css'

interface Props {
  readonly server: Server
  readonly column: Column
  readonly onClose: () => void
}

/** The tools of one server in one agent. Through the gateway each can be switched. */
export function ToolsDrawer({ server, column, onClose }: Props) {
  const { agent, via } = column
  const { mayChange } = useSession()
  const { data, error } = useTools(server)
  const chosen = useAgentTools(agent.agent_type)
  const only = chosen.data?.tools[server.id]
  const isOn = (name: string) => only === undefined || only.includes(name)
  const tools = data?.items ?? []
  const on = tools.filter(({ name }) => isOn(name)).map(({ name }) => name)
  const choose = (names: readonly string[]) => {
    const all = names.length === tools.length ? null : names
    chooseTools(agent.agent_type, server.id, all).catch((failure: unknown) => showFailure(failure))
  }
  return (
    <Drawer
      opened
      onClose={onClose}
      position="right"
      title={t('toolsTitle', { server: server.name, agent: agent.name })}
    >
      <div className={css.body}>
        {via === 'direct' && <p className="muted">{t('toolsDirect', { agent: agent.name })}</p>}
        {error && <p className="muted">{t('toolsUnknown')}</p>}
        {!data && !error && <Skeleton rows={6} height={30} />}
        {via === 'gateway' && data && (
          <div className="row">
            <span className="muted grow">{t('toolsSome', { on: on.length, count: tools.length })}</span>
            <Act size="xs" changes onClick={() => choose(tools.map(({ name }) => name))}>
              {t('allOn')}
            </Act>
            <Act size="xs" changes onClick={() => choose([])}>
              {t('allOff')}
            </Act>
          </div>
        )}
        <ul>
          {tools.map(({ name, tokens: size }) => (
            <li key={name} className={css.tool}>
              {via === 'gateway' ? (
                <Switch
                  checked={isOn(name)}
                  disabled={!mayChange}
                  label={<span className="mono">{name}</span>}
                  onChange={({ currentTarget }) =>
                    choose(currentTarget.checked ? [...on, name] : on.filter((each) => each !== name))
                  }
                />
              ) : (
                <span className="mono">{name}</span>
              )}
              <span className="muted sm right">{t('tokensShort', { tokens: tokens(size) })}</span>
            </li>
          ))}
        </ul>
      </div>
    </Drawer>
  )
}
