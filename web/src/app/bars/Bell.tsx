import { ActionIcon, Popover, type PopoverProps } from '@mantine/core'
import { useEffect, useRef, useState } from 'react'
import { Link } from 'wouter'
import type { Notice } from '../../data/api.ts'
import { useOsNotices } from '../../data/browser/os-notices.ts'
import { useMarkSeen, useNotices } from '../../data/notices.ts'
import { useServer, useServers } from '../../data/servers.ts'
import { setMutes, useMutes } from '../../data/settings.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { NotifyMe } from '../../parts/controls/NotifyMe.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { Repair } from '../../parts/repair/Repair.tsx'
import { t } from '../messages.ts'
import css from './Bell.module.css'

const MOST_SHOWN = 99
const AS_HIGH_AS_THE_ROOM: PopoverProps['middlewares'] = {
  size: {
    padding: 5,
    apply: ({ availableHeight, elements }) => {
      elements.floating.style.maxHeight = `${availableHeight}px`
    },
  },
}

/** The number of open notices that were not seen, and all open ones. */
export function Bell() {
  const [isOpen, setOpen] = useState(false)
  const { data: notices = [] } = useNotices()
  const { servers = [] } = useServers()
  const seen = useMarkSeen()
  const isOffered = useOsNotices() === 'off' && notices.some(({ kind }) => kind === 'server_crashed')
  const unseen = notices.filter(({ seen_at }) => seen_at === null).length
  const shown = unseen > MOST_SHOWN ? `${MOST_SHOWN}+` : String(unseen)
  const isPart = unseen > 0 && shown !== String(notices.length)
  const list = useRef<HTMLDivElement>(null)
  // A button that was pressed may be gone with its notice. Without the focus inside, Escape would not close the list.
  useEffect(() => {
    if (isOpen && document.activeElement === document.body) list.current?.focus()
  })
  return (
    <Popover
      opened={isOpen}
      onChange={setOpen}
      position="bottom-end"
      width={392}
      middlewares={AS_HIGH_AS_THE_ROOM}
      trapFocus
      returnFocus
    >
      <Popover.Target>
        <ActionIcon
          aria-label={t(isPart ? 'newNotices' : 'notices', { count: notices.length, shown })}
          onClick={() => setOpen(!isOpen)}
          className={css.bell}
        >
          <Icon name="bell" />
          {unseen > 0 && (
            <span className={css.count} aria-hidden="true">
              {shown}
            </span>
          )}
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown ref={list} className={css.panel} aria-label={t('noticesTitle')}>
        {notices.length === 0 && <p className={`muted ${css.none}`}>{t('noNotices')}</p>}
        {isOffered && (
          <div className={css.offer}>
            <p className="sm grow">{t('offer')}</p>
            <NotifyMe />
          </div>
        )}
        <ul className={css.list} aria-label={t('noticesTitle')}>
          {notices.map((notice) => (
            <li key={notice.id} className={css.item}>
              <span className={toneOf(notice.level)}>
                <Glyph name={notice.level === 'error' ? 'err' : 'look'} />
              </span>
              <div className="grow">
                <p>{notice.text}</p>
                {notice.evidence && <p className={`mono ${toneOf(notice.level)}`}>{notice.evidence}</p>}
                {notice.count > 1 && <p className="muted sm">{t('andMore', { count: notice.count - 1 })}</p>}
                <div className={css.actions}>
                  {isBroken(notice) && (
                    <Link href={notice.action.route} onClick={() => setOpen(false)}>
                      {notice.action.label}
                    </Link>
                  )}
                  <Repair
                    action={notice.action}
                    server={servers.find(({ id }) => id === notice.server_id)}
                    size="xs"
                    look="quiet"
                    onOpen={() => setOpen(false)}
                  />
                  <span className="muted sm">
                    <Time at={notice.at} />
                  </span>
                  {notice.server_id !== null && <Mute serverId={notice.server_id} />}
                  {notice.seen_at === null && (
                    <Act
                      size="xs"
                      look="quiet"
                      changes
                      onClick={() => seen.mutate(notice.id, { onError: (error) => showFailure(error) })}
                    >
                      {t('seen')}
                    </Act>
                  )}
                </div>
              </div>
            </li>
          ))}
        </ul>
      </Popover.Dropdown>
    </Popover>
  )
}

/** Notices of a muted server are recorded, but not shown. */
function Mute({ serverId }: { readonly serverId: string }) {
  const { data: mutes } = useMutes()
  const { server } = useServer(serverId)
  const name = server?.name ?? serverId
  const mute = () =>
    mutes &&
    setMutes({ ...mutes, servers: [...new Set([...mutes.servers, serverId])] }).then(
      () => showDone(t('muted', { name })),
      showFailure,
    )
  return (
    <Act size="xs" look="quiet" changes onClick={() => void mute()}>
      {t('mute', { name })}
    </Act>
  )
}

/** Its page says why. What the others are about is where their button leads. */
const isBroken = ({ kind }: Notice): boolean => kind.startsWith('server_')

const toneOf = (level: 'info' | 'warn' | 'error') => ({ info: 'info', warn: 'warn', error: 'err' })[level]
