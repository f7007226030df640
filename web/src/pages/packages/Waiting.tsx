import type { Job } from '../../data/api.ts'
import { useCancelJob } from '../../data/jobs.ts'
import { useContinueJob } from '../../data/packages.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Icon } from '../../parts/marks/icons.tsx'
import { Tag } from '../../parts/marks/Tag.tsx'
import { t } from './messages.ts'
import css from './Packages.module.css'

interface Detail {
  readonly from?: string
  readonly to?: string
  readonly tools?: {
    readonly added: readonly string[]
    readonly removed: readonly string[]
    readonly changed: readonly string[]
  }
}
const TONES = { added: 'ok', removed: 'err', changed: 'warn' } as const

/** The new version runs on trial: what would change, before anything is replaced. */
export function Waiting({ job }: { readonly job: Job }) {
  const cancel = useCancelJob()
  const go = useContinueJob()
  const detail = job.phases.find(({ name }) => name === 'waiting')?.detail as Detail | null | undefined
  const tools = detail?.tools
  const kinds = (['added', 'removed', 'changed'] as const).filter((kind) => (tools?.[kind].length ?? 0) > 0)
  const onError = (error: unknown) => showFailure(error)
  return (
    <>
      <div className={css.versions}>
        <span className="mono muted">{detail?.from}</span>
        <Icon name="right" size={12} />
        <span className="mono strong">{detail?.to}</span>
        <span className="right">
          <Tag tone="info" glyph="work">
            {t('onTrial')}
          </Tag>
        </span>
      </div>
      <p>{t('wouldChange')}</p>
      <ul className={css.changes}>
        {kinds.map((kind) => (
          <li key={kind} className="row">
            <Tag tone={TONES[kind]}>{t(kind, { count: tools?.[kind].length ?? 0 })}</Tag>
            <span className="mono cut">{tools?.[kind].join(', ')}</span>
          </li>
        ))}
        {kinds.length === 0 && <li className="muted">{t('noToolChange')}</li>}
      </ul>
      <div className={css.jobFoot}>
        <span className="muted sm grow">{t('rollLater')}</span>
        <Act look="quiet" changes busy={cancel.isPending} onClick={() => cancel.mutate(job.id, { onError })}>
          {t('keep', { version: detail?.from ?? '' })}
        </Act>
        <Act look="main" changes busy={go.isPending} onClick={() => go.mutate(job.id, { onError })}>
          {t('switchTo', { version: detail?.to ?? '' })}
        </Act>
      </div>
    </>
  )
}
