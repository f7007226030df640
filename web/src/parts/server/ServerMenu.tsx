import { ActionIcon, Menu } from '@mantine/core'
import { useState } from 'react'
import { useLocation } from 'wouter'
import { useChangeServer } from '../../data/server/server-changes.ts'
import type { Server } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { showDone, showFailure, showUndo } from '../controls/toasts.tsx'
import { Icon } from '../marks/icons.tsx'
import { EnableDialog } from './EnableDialog.tsx'
import { t } from './messages.ts'
import { removeWithUndo } from './remove.ts'

interface Props {
  readonly server: Server
  readonly size?: number
  readonly onRemoved?: () => void
}

/** Everything else that can be done with a server. */
export function ServerMenu({ server, size = 24, onRemoved }: Props) {
  const [isEnabling, setEnabling] = useState(false)
  const [, navigate] = useLocation()
  const { mayChange } = useSession()
  const switched = useSwitch(server)
  const to = (path: string) => () => navigate(path)
  const off = { disabled: !mayChange }
  return (
    <>
      <Menu>
        <Menu.Target>
          <ActionIcon size={size} aria-label={t('more', { name: server.name })}>
            <Icon name="more" size={size === 24 ? 14 : 16} />
          </ActionIcon>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={to(`/servers/${server.id}`)}>{t('details')}</Menu.Item>
          <Menu.Item onClick={to(`/servers/${server.id}?tab=config`)}>{t('edit')}</Menu.Item>
          <Menu.Item onClick={to(`/logs?servers=${server.id}`)}>{t('logs')}</Menu.Item>
          <Menu.Item onClick={to(`/traffic?servers=${server.id}`)}>{t('traffic')}</Menu.Item>
          <Menu.Item onClick={to(`/playground?server=${server.id}`)}>{t('playground')}</Menu.Item>
          {server.type === 'stdio' && (
            <Menu.Item onClick={to(`/servers/${server.id}?tab=config&trial=1`)}>
              {t('tryIsolation')}
            </Menu.Item>
          )}
          <Menu.Divider />
          <Menu.Item {...off} onClick={() => setEnabling(true)}>
            {t('enableIn')}
          </Menu.Item>
          {server.type === 'http' && (
            <Menu.Item {...off} onClick={switched}>
              {server.enabled ? t('disable') : t('enable')}
            </Menu.Item>
          )}
          <Menu.Item
            {...off}
            color="err"
            onClick={() => {
              removeWithUndo([server])
              onRemoved?.()
            }}
          >
            {t('remove')}
          </Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {isEnabling && <EnableDialog servers={[server]} onClose={() => setEnabling(false)} />}
    </>
  )
}

/** Disables or enables an HTTP server. Disabling can be undone for 10 s. */
function useSwitch(server: Server): () => void {
  const change = useChangeServer(server)
  const set = (enabled: boolean, done: () => void) =>
    change.mutate({ enabled }, { onSuccess: done, onError: (error) => showFailure(error) })
  const { name } = server
  const enable = () => set(true, () => showDone(t('enabled', { name })))
  const disable = () =>
    set(false, () => showUndo({ title: t('disabled', { name }), text: t('applied'), onUndo: enable }))
  return server.type === 'http' && server.enabled ? disable : enable
}
