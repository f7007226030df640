import { useState } from 'react'
import { useBulk } from '../../data/server/server-changes.ts'
import type { Server } from '../../data/servers.ts'
import { Act, IconAct } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { EnableDialog } from '../../parts/server/EnableDialog.tsx'
import { removeWithUndo } from '../../parts/server/remove.ts'
import { t } from './messages.ts'
import css from './Servers.module.css'

interface Props {
  readonly servers: readonly Server[]
  readonly onClear: () => void
}

/** What can be done with the selected servers. */
export function BulkBar({ servers, onClear }: Props) {
  const [isEnabling, setEnabling] = useState(false)
  const bulk = useBulk()
  const ids = servers.filter(({ type }) => type === 'stdio').map(({ id }) => id)
  const run = (action: 'start' | 'stop' | 'restart') => () =>
    bulk.mutate(
      { action, ids },
      {
        onSuccess: ({ items, failed, total }) => {
          const why = items.find(({ ok }) => !ok)?.error?.message
          if (failed > 0) showFailure(new Error(t('bulkFailed', { count: failed, why: why ?? '' })))
          else showDone(t('bulkDone', { count: total }))
        },
        onError: (error) => showFailure(error),
      },
    )
  const local = {
    changes: true,
    busy: bulk.isPending,
    blocked: ids.length === 0 ? t('onlyLocal') : undefined,
  }
  const label = t('selected', { count: servers.length })
  return (
    <div className={css.bulk} role="toolbar" aria-label={label}>
      <b className="strong">{label}</b>
      <span className={css.separator} />
      <Act icon="play" {...local} onClick={run('start')}>
        {t('bulkStart')}
      </Act>
      <Act icon="stop" {...local} onClick={run('stop')}>
        {t('bulkStop')}
      </Act>
      <Act icon="restart" {...local} onClick={run('restart')}>
        {t('bulkRestart')}
      </Act>
      <Act icon="agents" changes onClick={() => setEnabling(true)}>
        {t('enableIn')}
      </Act>
      <span className={css.separator} />
      <Act
        look="danger"
        changes
        onClick={() => {
          removeWithUndo(servers)
          onClear()
        }}
      >
        {t('remove')}
      </Act>
      <IconAct icon="close" label={t('clearSelection')} onClick={onClear} />
      {isEnabling && <EnableDialog servers={servers} onClose={() => setEnabling(false)} />}
    </div>
  )
}
