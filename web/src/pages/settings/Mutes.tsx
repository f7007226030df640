import { Checkbox } from '@mantine/core'
import type { Schemas } from '../../data/api.ts'
import { useServers } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { setMutes, useMutes } from '../../data/settings.ts'
import { NotifyMe } from '../../parts/controls/NotifyMe.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { ServerBoxes } from '../../parts/server/ServerBoxes.tsx'
import { Entry } from './Entry.tsx'
import { t } from './messages.ts'
import css from './Settings.module.css'

type Kind = Schemas['Mutes']['kinds'][number]
/** In the order of the page. A kind that the service adds is a type error here. */
const KINDS: Readonly<Record<Kind, string>> = {
  server_crashed: t('kindCrashed'),
  server_failed: t('kindFailed'),
  server_degraded: t('kindDegraded'),
  login_needed: t('kindLogin'),
  outgoing_held: t('kindOutgoing'),
  tools_changed: t('kindChanged'),
  tools_held: t('kindHeld'),
  agent_file_edited: t('kindEdited'),
  agent_file_unreadable: t('kindUnreadable'),
  package_update: t('kindUpdate'),
  package_deprecated: t('kindDeprecated'),
  leaked_processes: t('kindLeaked'),
  disk: t('kindDisk'),
  weak_token: t('kindToken'),
  settings: t('kindSettings'),
}

/** Which notices are recorded but not shown. */
export function Mutes() {
  const { mayChange } = useSession()
  const { servers = [] } = useServers()
  const { data: mutes } = useMutes()
  if (!mutes) return null
  const change = (next: Partial<Schemas['Mutes']>) =>
    setMutes({ ...mutes, ...next }).catch((error: unknown) => showFailure(error))
  return (
    <>
      <Entry name={t('osNotices')} text={t('osNoticesText')}>
        <NotifyMe />
      </Entry>
      <Entry name={t('mutes')} text={t('mutesText')}>
        <div className={css.boxes}>
          {(Object.keys(KINDS) as Kind[]).map((kind) => (
            <Checkbox
              key={kind}
              label={KINDS[kind]}
              disabled={!mayChange}
              checked={mutes.kinds.includes(kind)}
              onChange={() => change({ kinds: toggled(mutes.kinds, kind) })}
            />
          ))}
        </div>
      </Entry>
      {servers.length > 0 && (
        <Entry name={t('muteServers')} text={t('muteServersText')}>
          <ServerBoxes
            className={css.boxes}
            chosen={mutes.servers}
            disabled={!mayChange}
            onToggle={(id) => change({ servers: toggled(mutes.servers, id) })}
          />
        </Entry>
      )}
    </>
  )
}

const toggled = <T,>(all: readonly T[], one: T): T[] =>
  all.includes(one) ? all.filter((each) => each !== one) : [...all, one]
