import { Button, Menu } from '@mantine/core'
import { useState } from 'react'
import { useJobs } from '../../data/jobs.ts'
import { type Found, type InstallInput, useInstall, usePackages } from '../../data/packages.ts'
import { useSession } from '../../data/session.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { Facts } from './Facts.tsx'
import { factsOf, isSuspicious } from './facts.ts'
import { InstallDialog } from './InstallDialog.tsx'
import { t } from './messages.ts'
import css from './Packages.module.css'

/** A package of the registry with its facts: good ones whisper, those to look at are coloured, unknown is a `?`. */
export function Result({ found }: { readonly found: Found }) {
  const about = [found.publisher, found.license].filter(Boolean).join(' · ')
  return (
    <li className={css.result}>
      <div className={css.resultHead}>
        <b className={css.name}>{found.name}</b>
        <span className="muted sm">{found.version}</span>
        <span className="muted sm cut">{about}</span>
        <span className="right">
          <Action found={found} />
        </span>
      </div>
      {found.description && <p>{found.description}</p>}
      <Facts facts={factsOf(found)} />
    </li>
  )
}

function Action({ found }: { readonly found: Found }) {
  const [isOpen, setOpen] = useState(false)
  const { mayChange } = useSession()
  const { data: jobs = [] } = useJobs()
  const { data: packages = [] } = usePackages()
  const install = useInstall()
  const start = (input: InstallInput) => install.mutate(input, { onError: (error) => showFailure(error) })
  const running = jobs.find(
    ({ subject, status }) => subject === found.name && (status === 'running' || status === 'queued'),
  )
  if (running)
    return (
      <Tag tone="info" glyph="work">
        {t(running.kind === 'package_update' ? 'isUpdating' : 'isInstalling')}
      </Tag>
    )
  if (packages.some(({ name }) => name === found.name))
    return (
      <Tag tone="ok" glyph="tick">
        {t('isInstalled')}
      </Tag>
    )
  return (
    <>
      {isSuspicious(found) ? (
        <Act look="quiet" onClick={() => setOpen(true)}>
          {t('lookCloser')}
        </Act>
      ) : !mayChange ? (
        <Act changes>{t('installAdd')}</Act>
      ) : (
        <Menu>
          <Menu.Target>
            <Button rightSection={<Icon name="down" size={14} />} loading={install.isPending}>
              {t('installAdd')}
            </Button>
          </Menu.Target>
          <Menu.Dropdown>
            <Menu.Item onClick={() => start({ name: found.name, allow_scripts: false, create_server: true })}>
              {t('installAdd')}
            </Menu.Item>
            <Menu.Item
              onClick={() => start({ name: found.name, allow_scripts: false, create_server: false })}
            >
              {t('installOnly')}
            </Menu.Item>
            <Menu.Item onClick={() => setOpen(true)}>{t('options')}</Menu.Item>
          </Menu.Dropdown>
        </Menu>
      )}
      {isOpen && <InstallDialog found={found} onInstall={start} onClose={() => setOpen(false)} />}
    </>
  )
}
