import { Link } from 'wouter'
import { useLogs } from '../../../data/logs.ts'
import { duration, millis } from '../../../format/format.ts'
import { t } from '../messages.ts'
import page from '../Playground.module.css'
import type { Run } from '../use-run.ts'
import css from './Result.module.css'

const SHOWN = 50

/** What the server wrote to its log during the call. */
export function WhileItRan({ run, endedAt }: { readonly run: Run; readonly endedAt: number }) {
  const { target, startedAt, state } = run
  const filter = {
    server_id: [target.server],
    since: new Date(startedAt).toISOString(),
    until: new Date(endedAt + 1).toISOString(),
    order: 'asc' as const,
  }
  const { data: lines = [] } = useLogs(filter, SHOWN)
  return (
    <>
      {state === 'cancelled' && (
        <p className="muted">{t('cancelledText', { time: duration(endedAt - startedAt) })}</p>
      )}
      {lines.length > 0 && (
        <section aria-label={t('whileRan')}>
          <h2 className={page.label}>
            {t('whileRan')} <span>{t('lines', { count: lines.length })}</span>
            <Link
              className="right"
              href={`/logs?servers=${target.server}&from=${startedAt}&to=${endedAt + 1}`}
            >
              {t('openLogs')}
            </Link>
          </h2>
          <div className={css.lines}>
            {lines.map((line) => (
              <div key={line.id} className="cut" title={line.message}>
                <span className="muted">
                  {millis(line.ts)} {line.level}
                </span>{' '}
                {line.message}
              </div>
            ))}
          </div>
        </section>
      )}
    </>
  )
}
