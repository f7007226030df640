import { useState } from 'react'
import { useClearLogs, useLogHistogram } from '../../data/logs.ts'
import { count } from '../../format/format.ts'
import { ConfirmDialog } from '../../parts/controls/ConfirmDialog.tsx'
import { Seg } from '../../parts/controls/Seg.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { type Choice, shownOf } from './filter.ts'
import css from './Logs.module.css'
import { t } from './messages.ts'

interface Props {
  readonly choice: Choice
  readonly shown: number | undefined
  readonly onClose: () => void
}

/** Names what it deletes. To clear everything, a word has to be typed. */
export function ClearDialog({ choice, shown, onClose }: Props) {
  const [what, setWhat] = useState<'shown' | 'all'>('all')
  const everything = useLogHistogram({})
  const clear = useClearLogs()
  const total = (what === 'all' ? everything.data?.total : shown) ?? 0
  const lines = { count: total, lines: count(total) }
  const confirm = () =>
    clear.mutate(what === 'all' ? {} : shownOf(choice), {
      onSuccess: ({ deleted }) => {
        showDone(t('cleared', { count: deleted, lines: count(deleted) }))
        onClose()
      },
      onError: (error) => showFailure(error),
    })
  const servers = choice.servers.length === 0 ? t('everyServer').toLowerCase() : choice.servers.join(', ')
  return (
    <ConfirmDialog
      key={what}
      title={t('clearTitle', lines)}
      action={t('clearAction', lines)}
      {...(what === 'all' && { word: t('clearWord') })}
      busy={clear.isPending}
      onConfirm={confirm}
      onClose={onClose}
    >
      <div className={css.clear}>
        <Seg
          label={t('clearWhat')}
          value={what}
          options={[
            { value: 'all', label: t('clearAll') },
            { value: 'shown', label: t('clearShown') },
          ]}
          onChange={setWhat}
        />
        <p>{what === 'all' ? t('clearAllText') : t('clearShownText', { servers })}</p>
        <p className="muted">{t('clearAudit')}</p>
      </div>
    </ConfirmDialog>
  )
}
