import { useEffect, useRef } from 'react'
import { useShort } from '../../../data/live/home-folder.ts'
import type { IsolationOptions, Refusal, WallsReport } from '../../../data/server/isolation.ts'
import { duration } from '../../../format/format.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { isOpen, withGrant } from '../../../parts/isolation/isolation.ts'
import { Glyph } from '../../../parts/marks/Glyph.tsx'
import { CauseStrip } from '../../../parts/states/CauseStrip.tsx'
import { t } from './messages.ts'
import css from './Trial.module.css'

interface Props {
  readonly report: WallsReport
  /** Of the dialog, which the granted paths change. */
  readonly options: IsolationOptions
  readonly onChange: (options: IsolationOptions) => void
}

/** How it ran, what it was refused, and what was not seen. */
export function Report({ report, options, onChange }: Props) {
  const { ok, error, calls, stderr_tail, tool_count, duration_ms } = report
  const section = useRef<HTMLElement>(null)
  useEffect(() => {
    section.current?.scrollIntoView({ block: 'start' }) // returns a promise in new browsers
  }, [])
  return (
    <section ref={section} className={css.report} aria-label={t('report')}>
      {ok ? (
        <p className={css.fact}>
          <span className="ok">
            <Glyph name="tick" />
          </span>
          {t('started', { count: tool_count ?? 0, time: duration(duration_ms) })}
        </p>
      ) : (
        <CauseStrip
          tone="err"
          sentence={t('notStarted')}
          evidence={error?.message}
          advice={error?.hint ?? undefined}
        />
      )}
      {!ok && stderr_tail.length > 0 && <Verbatim label={t('wrote')} text={stderr_tail.join('\n')} />}
      {calls.map(({ tool, ok: worked, text }, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a call has no other identity
        <div key={index} className={css.made}>
          <p className={css.fact}>
            <span className={worked ? 'ok' : 'err'}>
              <Glyph name={worked ? 'tick' : 'err'} />
            </span>
            <span className="mono">{tool}</span>
          </p>
          {text !== '' && <Verbatim label={t('result', { number: index + 1, tool })} text={text} />}
        </div>
      ))}
      <Refusals report={report} options={options} onChange={onChange} />
      <Lost report={report} />
      {ok && <Unseen report={report} />}
    </section>
  )
}

/** A path that is not suggested, such as one to keys, has to be written into the form. */
function Refusals({ report: { refused, suggested_options }, options, onChange }: Props) {
  const short = useShort()
  const nothing = !refused.some(({ seen_in }) => seen_in === 'errors') && (
    <p className="muted">{t('nothing')}</p>
  )
  if (refused.length === 0) return nothing
  const refusals = refused.map(({ path, ...rest }): Refusal => ({ ...rest, path: path && short(path) }))
  return (
    <div className={css.refused}>
      {nothing}
      <div className={css.head}>
        <b className="strong">{t('refused')}</b>
        {refusals.length > 1 &&
          refusals.some((refusal) => !isOpen(options, refusal) && isOpen(suggested_options, refusal)) && (
            <Act size="xs" onClick={() => onChange(suggested_options)}>
              {t('openAll')}
            </Act>
          )}
      </div>
      {refusals.map((refusal) => {
        const open = isOpen(options, refusal)
        return (
          <CauseStrip
            key={`${refusal.kind} ${refusal.path}`}
            tone={open ? 'ok' : 'warn'}
            sentence={sentenceOf(refusal, open)}
            evidence={open ? undefined : short(refusal.evidence)}
          >
            {(open || isOpen(suggested_options, refusal)) && (
              <Act
                size="xs"
                look={open ? 'quiet' : 'plain'}
                onClick={() => onChange(withGrant(options, refusal, !open))}
              >
                {open ? t('shut') : t(`open${refusal.kind}`)}
              </Act>
            )}
          </CauseStrip>
        )
      })}
    </div>
  )
}

function sentenceOf({ kind, path, seen_in }: Refusal, open: boolean): string {
  if (seen_in === 'lost_files' && !open) return t('lostShut', { path: path ?? '' })
  if (kind === 'network') return open ? t('networkOpen') : t('network')
  return t(`${kind}${open ? 'Open' : 'Shut'}`, { path: path ?? '' })
}

const SHOWN_FILES = 5

/** What it wrote without an error, and does not find again. */
function Lost({ report: { lost_files, lost_file_count, refused } }: Pick<Props, 'report'>) {
  if (lost_files.length === 0) return null
  const shown = lost_files.slice(0, SHOWN_FILES)
  const count = lost_file_count - shown.length
  const lines = count > 0 ? [...shown, t('lostMore', { count })] : shown
  return (
    <div className={css.refused}>
      <b className="strong">{t('lost')}</b>
      <Verbatim label={t('lost')} text={lines.join('\n')} />
      {!refused.some(({ seen_in }) => seen_in === 'lost_files') && (
        <p className="muted sm">{t('lostKeep')}</p>
      )}
    </div>
  )
}

/** What did not happen says nothing about what is needed. */
function Unseen({ report: { tools, calls } }: Pick<Props, 'report'>) {
  const called = new Set(calls.map(({ tool }) => tool))
  const count = tools.filter(({ name }) => !called.has(name)).length
  return <p className="muted sm">{count === 0 ? t('unseenWays') : t('unseen', { count })}</p>
}

function Verbatim({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, so it must be reachable with the keyboard
    <section className={css.verbatim} aria-label={label} tabIndex={0}>
      {text}
    </section>
  )
}
