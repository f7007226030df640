import { program } from '../../data/browser/program.ts'
import { useLive } from '../../data/live/live.ts'
import { useSession } from '../../data/session.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { openTokenDialog } from '../../parts/controls/token-dialog.ts'
import { Icon } from '../../parts/marks/icons.tsx'
import { t } from '../messages.ts'
import bar from './Bar.module.css'
import css from './ReadOnlyBar.module.css'

/** Why nothing can be changed, and what to do about it. */
export function ReadOnlyBar() {
  const { mayChange, refused } = useSession()
  const { connection } = useLive()
  if (mayChange) return null
  const command = (
    <code key="command" className="mono">
      {program} open
    </code>
  )
  return (
    <section className={bar.info} aria-label={t('readOnly')}>
      <span className="info">
        <Icon name="lock" />
      </span>
      <p className={css.text}>
        <b>{refused === 'expired' ? t('expired') : refused === 'spent' ? t('spent') : t('readOnly')}</b>{' '}
        {t.rich(refused ? 'runAgain' : 'readOnlyHow', { command })}
      </p>
      <Act size="xs" onClick={openTokenDialog}>
        {t('paste')}
      </Act>
      {connection.state !== 'locked' && <span className={css.sees}>{t('readOnlySees')}</span>}
    </section>
  )
}
