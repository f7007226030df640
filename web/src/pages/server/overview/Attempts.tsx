import type { Server } from '../../../data/servers.ts'
import { duration, long, seconds, whole } from '../../../format/format.ts'
import { Glyph } from '../../../parts/marks/Glyph.tsx'
import { exitText } from '../../../parts/server/cause.ts'
import { t } from './messages.ts'
import css from './Overview.module.css'

const SHOWN = 3

/** The last exits, how long each process ran, and when the next one starts. */
export function Attempts({ server }: { readonly server: Extract<Server, { type: 'stdio' }> }) {
  const { recent_exits, next_retry_at, later_retries_s } = server
  if (recent_exits.length === 0) return null
  const exits = recent_exits.slice(0, SHOWN).toReversed()
  return (
    <>
      <dt>{t('attempts')}</dt>
      <dd>
        <ol className={css.attempts}>
          {exits.map((exit, index) => (
            <li key={exit.at} style={{ display: 'contents' }}>
              {index > 0 && <span className={css.gap} aria-hidden="true" />}
              <span className={css.attempt}>
                <span className="row">
                  <span className="err">
                    <Glyph name="err" />
                  </span>
                  {seconds(exit.at)}
                </span>
                <span className="xs muted">
                  {t('ranExit', { time: lasted(exit.ran_s), exit: exitText(exit) })}
                </span>
              </span>
            </li>
          ))}
          {next_retry_at !== null && (
            <li style={{ display: 'contents' }}>
              <span className={css.gap} aria-hidden="true" />
              <span className={css.attempt}>
                <span className="row strong">
                  <span className="muted">
                    <Glyph name="idle" />
                  </span>
                  {seconds(next_retry_at)}
                </span>
                <span className="xs muted">{t('nextTry')}</span>
              </span>
            </li>
          )}
        </ol>
        {next_retry_at !== null && later_retries_s.length > 0 && (
          <p className="muted sm">{scheduleText(later_retries_s)}</p>
        )}
      </dd>
    </>
  )
}

/** "If that fails: after 8 s, 16 s, then every 5 m." */
function scheduleText(delays: readonly number[]): string {
  const each = t('thenEvery', { time: lasted(delays.at(-1) ?? 0) })
  const before = delays.slice(0, -1).map(lasted)
  return before.length === 0
    ? t('ifThatFails', { when: each })
    : t('ifThatFails', { when: `${t('after', { times: before.join(', ') })}, ${each}` })
}

const lasted = (s: number): string => (s < 60 ? duration(s * 1000) : s % 60 === 0 ? whole(s) : long(s))
