import { useState } from 'react'
import { Link } from 'wouter'
import {
  type Package,
  useRefreshPackages,
  useRollBack,
  useUninstall,
  useUpdatePackage,
} from '../../data/packages.ts'
import { bytes } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { ConfirmDialog } from '../../parts/controls/ConfirmDialog.tsx'
import { showDone, showFailure, showUndo } from '../../parts/controls/toasts.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { EmptyState } from '../../parts/states/EmptyState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'
import { NpxServers } from './NpxServers.tsx'
import css from './Packages.module.css'

interface Props {
  readonly packages: readonly Package[] | undefined
  readonly isUpdates: boolean
}

export function Installed({ packages, isUpdates }: Props) {
  const refresh = useRefreshPackages()
  const [leaving, setLeaving] = useState<Package>()
  const [hidden, setHidden] = useState<readonly string[]>([])
  const uninstall = useUninstall()
  const shown = packages?.filter(({ id }) => !hidden.includes(id))
  const remove = (one: Package) =>
    uninstall.mutate(one, {
      onSuccess: () => setLeaving(undefined),
      onError: (error) => showFailure(error),
      onSettled: () => setHidden((now) => now.filter((id) => id !== one.id)),
    })
  /** A package without servers goes after ten seconds, in which it can be kept. */
  const start = (one: Package) => {
    if (one.used_by.length > 0) return setLeaving(one)
    setHidden((now) => [...now, one.id])
    showUndo({
      title: t('uninstalled', { name: one.name }),
      onUndo: () => setHidden((now) => now.filter((id) => id !== one.id)),
      onOver: () => remove(one),
    })
  }
  const ask = () =>
    refresh.mutate(undefined, {
      onSuccess: ({ items }) =>
        showDone(t('refreshed', { count: items.filter((each) => each.update_available).length })),
      onError: (error) => showFailure(error),
    })
  return (
    <>
      <section className="card" aria-label={isUpdates ? t('updates') : t('installed')}>
        {!shown && <Skeleton rows={4} height={64} />}
        {shown?.length === 0 && (
          <EmptyState
            title={isUpdates ? t('noUpdates') : t('noneInstalled')}
            text={isUpdates ? t('noUpdatesText') : t('noneInstalledText')}
          />
        )}
        <ul>
          {shown?.map((one) => (
            <Item key={one.id} one={one} onUninstall={() => start(one)} />
          ))}
        </ul>
      </section>
      <div>
        <Act icon="restart" changes busy={refresh.isPending} onClick={ask}>
          {t('refresh')}
        </Act>
      </div>
      {leaving && (
        <ConfirmDialog
          title={t('uninstallTitle', { name: leaving.name })}
          action={t('uninstallAction', { count: leaving.used_by.length })}
          word={t('uninstallWord')}
          busy={uninstall.isPending}
          onConfirm={() => remove(leaving)}
          onClose={() => setLeaving(undefined)}
        >
          {t('uninstallText', { count: leaving.used_by.length, servers: leaving.used_by.join(', ') })}
        </ConfirmDialog>
      )}
    </>
  )
}

function Item({ one, onUninstall }: { readonly one: Package; readonly onUninstall: () => void }) {
  const update = useUpdatePackage()
  const back = useRollBack()
  const onError = (error: unknown) => showFailure(error)
  const { previous_version: previous } = one
  const rollBack = () =>
    back.mutate(one.id, {
      onSuccess: ({ name, version }) => showDone(t('rolledBack', { name, version })),
      onError,
    })
  return (
    <li className={css.result}>
      <div className={css.resultHead}>
        <b className={css.name}>{one.name}</b>
        <span className="muted sm">{one.version}</span>
        {one.update_available && <Tag tone="info">{t('canUpdate', { version: one.latest ?? '' })}</Tag>}
        {one.status === 'broken' && (
          <Tag tone="err" glyph="err">
            {t('broken')}
          </Tag>
        )}
        {one.deprecated !== null && (
          <Tag tone="warn" glyph="look">
            {t('deprecated')}
          </Tag>
        )}
        <span className={`right ${css.itemActions}`}>
          {one.update_available && (
            <Act size="xs" changes busy={update.isPending} onClick={() => update.mutate(one.id, { onError })}>
              {t('update')}
            </Act>
          )}
          {previous !== null && (
            <Act size="xs" look="quiet" changes busy={back.isPending} onClick={rollBack}>
              {t('rollBack', { version: previous })}
            </Act>
          )}
          <Act size="xs" look="danger" changes onClick={onUninstall}>
            {t('uninstall')}
          </Act>
        </span>
      </div>
      <div className={css.about}>
        <span>{bytes(one.size_bytes)}</span>
        {one.license && <span>{one.license}</span>}
        {one.scripts_skipped.length > 0 && (
          <span title={one.scripts_skipped.join(', ')}>
            {t('skipped', { count: one.scripts_skipped.length })}
          </span>
        )}
        {one.used_by.length > 0 && (
          <span>
            {t('usedBy')}{' '}
            {one.used_by.map((id, index) => (
              <span key={id}>
                {index > 0 && ', '}
                <Link href={`/servers/${id}`}>{id}</Link>
              </span>
            ))}
          </span>
        )}
        {one.deprecated !== null && <span className="warn">{one.deprecated}</span>}
      </div>
      <NpxServers name={one.name} servers={one.npx_servers} />
    </li>
  )
}
