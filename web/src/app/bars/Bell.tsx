import { ActionIcon, Popover } from '@mantine/core'
import { useState } from 'react'
import { Link } from 'wouter'
import { useMarkSeen, useNotices } from '../../data/notices.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Time } from '../../parts/marks/Time.tsx'
import { t } from '../messages.ts'
import css from './Bell.module.css'

/** The number of open notices that were not seen, and all open ones. */
export function Bell() {
  const [isOpen, setOpen] = useState(false)
  const { data: notices = [] } = useNotices()
  const seen = useMarkSeen()
  const unseen = notices.filter(({ seen_at }) => seen_at === null).length
  return (
    <Popover opened={isOpen} onChange={setOpen} position="bottom-end" width={392} trapFocus returnFocus>
      <Popover.Target>
        <ActionIcon
          aria-label={t('notices', { count: notices.length })}
          onClick={() => setOpen(!isOpen)}
          className={css.bell}
        >
          <Icon name="bell" />
          {unseen > 0 && (
            <span className={css.count} aria-hidden="true">
              {unseen > 99 ? '99' : unseen}
            </span>
          )}
        </ActionIcon>
      </Popover.Target>
      <Popover.Dropdown aria-label={t('noticesTitle')}>
        {notices.length === 0 && <p className={`muted ${css.none}`}>{t('noNotices')}</p>}
        <ul className={css.list}>
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
                  <Link href={notice.action.route} onClick={() => setOpen(false)}>
                    {notice.action.label}
                  </Link>
                  <span className="muted sm">
                    <Time at={notice.at} />
                  </span>
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

const toneOf = (level: 'info' | 'warn' | 'error') => ({ info: 'info', warn: 'warn', error: 'err' })[level]
