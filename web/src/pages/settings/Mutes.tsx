import { Checkbox } from '@mantine/core'
import type { Schemas } from '../../data/api.ts'
import { useServers } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { useMutes, useSetMutes } from '../../data/settings.ts'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'

type Kind = Schemas['Mutes']['kinds'][number]
const KINDS: readonly Kind[] = [
  'server_crashed',
  'server_failed',
  'server_degraded',
  'login_needed',
  'tools_changed',
  'tools_held',
  'agent_file_edited',
  'agent_file_unreadable',
  'package_update',
  'package_deprecated',
  'leaked_processes',
  'disk',
  'weak_token',
  'settings',
]

/** Which notices are recorded but not shown. */
export function Mutes() {
  const { mayChange } = useSession()
  const { servers = [] } = useServers()
  const { data: mutes } = useMutes()
  const set = useSetMutes()
  if (!mutes) return null
  const change = (next: Partial<Schemas['Mutes']>) =>
    set.mutate({ ...mutes, ...next }, { onError: (error) => showFailure(error) })
  return (
    <>
      <Entry name={t('mutes')} text={t('mutesText')}>
        <div className={css.boxes}>
          {KINDS.map((kind) => (
            <Checkbox
              key={kind}
              label={kind.replaceAll('_', ' ')}
              disabled={!mayChange}
              checked={mutes.kinds.includes(kind)}
              onChange={() => change({ kinds: toggled(mutes.kinds, kind) })}
            />
          ))}
        </div>
      </Entry>
      {servers.length > 0 && (
        <Entry name={t('muteServers')} text={t('muteServersText')}>
          <div className={css.boxes}>
            {servers.map(({ id, name }) => (
              <Checkbox
                key={id}
                label={name}
                disabled={!mayChange}
                checked={mutes.servers.includes(id)}
                onChange={() => change({ servers: toggled(mutes.servers, id) })}
              />
            ))}
          </div>
        </Entry>
      )}
    </>
  )
}

const toggled = <T,>(all: readonly T[], one: T): T[] =>
  all.includes(one) ? all.filter((each) => each !== one) : [...all, one]
