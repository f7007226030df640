import { asTyped } from '../../data/browser/program.ts'
import type { ImportItem } from '../../data/first-run/first-run.ts'
import { type Trial, tryAgain } from '../../data/first-run/trials.ts'
import { duration } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { ShownText } from '../../parts/marks/StatusText.tsx'
import { t } from './messages.ts'
import css from './Welcome.module.css'

/** Whether the server of an entry starts. */
export function TrialState({ trial, isRemote }: { readonly trial: Trial; readonly isRemote: boolean }) {
  return <ShownText {...shownTrial(trial, isRemote)} />
}

const isOver = (trial: Trial): boolean =>
  trial.state === 'failed' || (trial.state === 'done' && !trial.report.ok)

function shownTrial(trial: Trial, isRemote: boolean) {
  if (trial.state === 'waiting')
    return { shown: { glyph: 'idle', word: t('isWaiting'), tone: 'idle' } } as const
  if (trial.state === 'running')
    return { shown: { glyph: 'work', word: t('isStarting'), tone: 'info' } } as const
  const not = { glyph: 'err', word: t(isRemote ? 'answersNot' : 'startsNot'), tone: 'err' } as const
  if (trial.state === 'failed') return { shown: not }
  const { ok, error, tool_count, duration_ms } = trial.report
  if (ok)
    return {
      shown: { glyph: 'run', word: t(isRemote ? 'answers' : 'starts'), tone: 'ok' },
      detail: t('startsWith', { count: tool_count ?? 0, time: duration(duration_ms) }),
    } as const
  if (error?.code === 'auth_required')
    return { shown: { glyph: 'look', word: t('needsLogin'), tone: 'warn' } } as const
  return { shown: not }
}

/** What happened, what the server wrote last, and what to do. */
export function TrialReason({ item, trial }: { readonly item: ImportItem; readonly trial: Trial }) {
  if (!isOver(trial)) return null
  const error = trial.state === 'done' ? trial.report.error : undefined
  const last = trial.state === 'done' ? trial.report.stderr_tail.at(-1) : undefined
  return (
    <div className={`sm ${css.wide} ${css.reason}`}>
      <p>
        <span className="err">{trial.state === 'failed' ? trial.message : error?.message}</span>
        {last && !error?.message.includes(last) && <span className="mono muted">{last}</span>}
        {error?.hint && <span className="muted">{asTyped(error.hint)}</span>}
      </p>
      <Act size="xs" changes onClick={() => tryAgain(item)}>
        {t('again')}
      </Act>
    </div>
  )
}
