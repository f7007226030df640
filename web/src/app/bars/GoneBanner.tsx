import { retryNow, useLive } from '../../data/live/live.ts'
import { seconds } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { useNow } from '../../parts/marks/Time.tsx'
import { t } from '../messages.ts'
import bar from './Bar.module.css'

/** The service does not answer. What is on screen stays, and says how old it is. */
export function GoneBanner() {
  const { connection, dataAt } = useLive()
  const now = useNow(1000)
  if (connection.state !== 'gone') return null
  const left = Math.ceil((connection.retryAt - now) / 1000)
  return (
    <div className={bar.warn} role="alert">
      <span className="warn">
        <Glyph name="look" />
      </span>
      <p>
        <b>{t('goneTitle')}</b> {dataAt !== undefined && t('goneData', { at: seconds(dataAt) })}{' '}
        <span aria-live="off">{left > 0 ? t('goneRetry', { seconds: left }) : t('goneNow')}</span>
      </p>
      <Act size="xs" onClick={retryNow}>
        {t('tryNow')}
      </Act>
    </div>
  )
}
