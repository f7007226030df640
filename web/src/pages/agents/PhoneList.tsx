import { Select, Switch } from '@mantine/core'
import { Link } from 'wouter'
import type { Server } from '../../data/servers.ts'
import { useGrowing } from '../../parts/content/use-growing.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { StatusText } from '../../parts/marks/StatusText.tsx'
import { CauseStrip } from '../../parts/states/CauseStrip.tsx'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import css from './PhoneList.module.css'
import type { Grid, Toggle } from './use-grid.ts'

interface Props {
  readonly grid: Grid
  readonly servers: readonly Server[]
  readonly toggle: Toggle
  readonly chosen: string
  readonly onChoose: (agentType: string) => void
  readonly onDiffers: (server: Server, column: Column) => void
  readonly onTools: (server: Server, column: Column) => void
}

/** As in PhoneList.module.css. */
const ROW = 56

/** On a phone: pick an agent, then a list of switches. */
export function PhoneList({ grid, servers, toggle, chosen, onChoose, onDiffers, onTools }: Props) {
  const { count, end } = useGrowing(servers.length, ROW)
  const column = grid.columns.find(({ agent }) => agent.agent_type === chosen) ?? grid.columns[0]
  if (!column) return null
  return (
    <>
      <Select
        aria-label={t('pick')}
        value={column.agent.agent_type}
        data={grid.columns.map(({ agent }) => ({ value: agent.agent_type, label: agent.name }))}
        onChange={(next) => next !== null && onChoose(next)}
        allowDeselect={false}
      />
      <div className="row sm">
        <span className="muted grow">{t(column.via === 'gateway' ? 'viaGatewayNow' : 'directLater')}</span>
        <Link href={`/agents/${column.agent.agent_type}`}>{t('openAgent')}</Link>
      </div>
      {column.agent.drift.length > 0 && (
        <Link href={`/agents/${column.agent.agent_type}?drift=1`} className="sm warn">
          {t('driftOf', { agent: column.agent.name })}
        </Link>
      )}
      {column.unreadable !== null && column.via === 'direct' ? (
        <CauseStrip tone="err" sentence={column.unreadable} />
      ) : (
        <ul className="card">
          {servers.slice(0, count).map((server) => {
            const cell = grid.cellAt(server, column)
            return (
              <li key={server.id} className={css.item} data-staged={cell.isStaged || undefined}>
                <div className="grow">
                  <b className="strong">{server.name}</b>
                  <div className="sm">
                    <StatusText server={server} />
                  </div>
                  {cell.blocked !== null && <div className="sm muted">{cell.blocked}</div>}
                </div>
                <Act size="xs" look="quiet" onClick={() => onTools(server, column)}>
                  {cell.side ?? t('toolsWord')}
                </Act>
                {cell.state === 'differs' ? (
                  <Act size="xs" onClick={() => onDiffers(server, column)}>
                    ≠ {t('differs')}
                  </Act>
                ) : (
                  <Switch
                    aria-label={t('cell', { server: server.name, agent: column.agent.name })}
                    checked={cell.state === 'on' || cell.state === 'some'}
                    disabled={toggle.reason !== null || cell.blocked !== null}
                    onChange={() => toggle.toggle(server, column)}
                  />
                )}
              </li>
            )
          })}
        </ul>
      )}
      {end}
    </>
  )
}
