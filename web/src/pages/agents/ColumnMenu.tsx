import { ActionIcon, Menu } from '@mantine/core'
import { useLocation } from 'wouter'
import { usePresets } from '../../data/agent-tools.ts'
import { useSession } from '../../data/session.ts'
import { Icon } from '../../parts/marks/icons.tsx'
import type { ColumnActions } from './ColumnHead.tsx'
import type { Column } from './grid-model.ts'
import { t } from './messages.ts'
import type { Grid } from './use-grid.ts'

interface Props extends ColumnActions {
  readonly grid: Grid
  readonly column: Column
  readonly target: { readonly tabIndex: number; readonly 'data-at': string; readonly onFocus: () => void }
}

/** Everything that can be done with one agent. */
export function ColumnMenu({ grid, column, target, onAction, onCopy, onPreset }: Props) {
  const [, navigate] = useLocation()
  const { mayChange } = useSession()
  const { data: presets = [] } = usePresets()
  const { agent } = column
  const others = grid.columns.filter((each) => each !== column && each.unreadable === null)
  return (
    <Menu position="bottom-end" width={260}>
      <Menu.Target>
        <ActionIcon
          size={24}
          className="right"
          aria-label={t('menu', { agent: agent.name })}
          onKeyDown={(event) => event.key.length === 1 && event.stopPropagation()}
          {...target}
        >
          <Icon name="more" size={14} />
        </ActionIcon>
      </Menu.Target>
      <Menu.Dropdown onKeyDown={(event) => event.stopPropagation()}>
        <Menu.Item onClick={() => navigate(`/agents/${agent.agent_type}`)}>{t('openAgent')}</Menu.Item>
        {agent.drift.length > 0 && (
          <Menu.Item onClick={() => navigate(`/agents/${agent.agent_type}?drift=1`)}>
            {t('seeDrift')}
          </Menu.Item>
        )}
        {mayChange && (
          <>
            {others.length > 0 && <Menu.Label>{t('copyFrom')}</Menu.Label>}
            {others.slice(0, 5).map((other) => (
              <Menu.Item key={other.agent.agent_type} onClick={() => onCopy(column, other)}>
                {other.agent.name}
              </Menu.Item>
            ))}
            {presets.length > 0 && <Menu.Label>{t('applyPreset')}</Menu.Label>}
            {presets.slice(0, 8).map(({ name, servers }) => (
              <Menu.Item key={name} onClick={() => onPreset(column, name, servers)}>
                {name}
              </Menu.Item>
            ))}
            <Menu.Divider />
            <Menu.Item onClick={() => onAction('preset', column)}>{t('savePreset')}</Menu.Item>
            {agent.connected_via === 'gateway' ? (
              <Menu.Item onClick={() => onAction('disconnect', column)}>{t('disconnect')}</Menu.Item>
            ) : (
              <Menu.Item onClick={() => onAction('connect', column)}>{t('connect')}</Menu.Item>
            )}
            <Menu.Item onClick={() => onAction('restore', column)}>{t('restore')}</Menu.Item>
          </>
        )}
      </Menu.Dropdown>
    </Menu>
  )
}
