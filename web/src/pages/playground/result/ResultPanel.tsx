import { useMemo } from 'react'
import { bytes, duration, seconds } from '../../../format/format.ts'
import { TimeSplit } from '../../../parts/charts/TimeSplit.tsx'
import { JsonTree } from '../../../parts/content/JsonTree.tsx'
import { Act } from '../../../parts/controls/Act.tsx'
import { copy } from '../../../parts/controls/CopyAs.tsx'
import { Seg } from '../../../parts/controls/Seg.tsx'
import { Glyph, type GlyphName, type Tone } from '../../../parts/marks/Glyph.tsx'
import { Keys } from '../../../parts/marks/Keys.tsx'
import { useNow } from '../../../parts/marks/Time.tsx'
import { EmptyState } from '../../../parts/states/EmptyState.tsx'
import { ErrorState } from '../../../parts/states/ErrorState.tsx'
import { AppView } from '../apps/AppView.tsx'
import { isObject } from '../form/schema.ts'
import { Json } from '../Json.tsx'
import { t } from '../messages.ts'
import page from '../Playground.module.css'
import type { Run } from '../use-run.ts'
import { Asked } from './Asked.tsx'
import { Blocks } from './Blocks.tsx'
import { Kept } from './Kept.tsx'
import css from './Result.module.css'
import { WhileItRan } from './WhileItRan.tsx'

export const TABS = ['content', 'structured', 'raw'] as const
export type Tab = (typeof TABS)[number]

interface Props {
  readonly run: Run | undefined
  /** The page that the tool shows beside its result. */
  readonly appUri: string | null
  readonly tab: Tab
  readonly onTab: (tab: Tab) => void
  readonly onCancel: () => void
  readonly onAgain: () => void
  readonly onAnswered: () => void
}

/** What the call does while it runs, and what it returned. */
export function ResultPanel({ run, appUri, tab, onTab, onCancel, onAgain, onAnswered }: Props) {
  const json = run?.json
  const result = useMemo(() => (json === undefined ? undefined : (JSON.parse(json) as unknown)), [json])
  if (!run)
    return (
      <section className={`${page.panel} ${page.result}`} aria-label={t('result')}>
        <div className={css.empty}>
          <EmptyState title={t('nothing')} text={t('nothingText')} />
        </div>
      </section>
    )
  const parts = isObject(result) ? result : {}
  return (
    <section className={`${page.panel} ${page.result}`} aria-label={t('result')}>
      <div className={page.head} role="status">
        <Outcome run={run} isError={parts.isError === true} />
        {run.json !== undefined && (
          <span className="right">
            <Seg
              label={t('result')}
              value={tab}
              options={TABS.map((value) => ({ value, label: t(value) }))}
              onChange={onTab}
            />
          </span>
        )}
        {run.state === 'running' && (
          <span className="right">
            <Act size="xs" onClick={onCancel}>
              {t('stop')} <Keys of="Escape" />
            </Act>
          </span>
        )}
      </div>
      <div className={page.body}>
        {run.state === 'running' && <Running run={run} />}
        {run.question && <Asked key={run.question.id} question={run.question} onAnswered={onAnswered} />}
        {run.state === 'failed' && <ErrorState error={run.error} />}
        {run.measured && run.measured.duration_ms !== null && run.state !== 'running' && (
          <>
            <h2 className={page.label}>{t('whereTime')}</h2>
            <TimeSplit {...run.measured} failed={run.state === 'failed' || parts.isError === true} />
          </>
        )}
        {run.json !== undefined && tab === 'content' && appUri !== null && (
          <AppView key={run.startedAt} uri={appUri} run={run} result={result} />
        )}
        {run.json !== undefined && tab === 'content' && (
          <Blocks content={Array.isArray(parts.content) ? parts.content : []} />
        )}
        {run.json !== undefined &&
          tab === 'structured' &&
          (parts.structuredContent === undefined ? (
            <p className="muted">{t('noStructured')}</p>
          ) : (
            <JsonTree value={parts.structuredContent} />
          ))}
        {run.json !== undefined && tab === 'raw' && <Json label={t('raw')} text={run.json} />}
        {run.endedAt !== undefined && <WhileItRan run={run} endedAt={run.endedAt} />}
      </div>
      {run.state !== 'running' && (
        <div className={page.foot}>
          <span className="muted sm">
            <Kept />
          </span>
          <span className={page.actions}>
            {run.json !== undefined && (
              <Act look="quiet" icon="copy" onClick={() => copy(run.json ?? '')}>
                {t('copy')}
              </Act>
            )}
            <Act icon="restart" changes onClick={onAgain}>
              {t('again')}
            </Act>
          </span>
        </div>
      )}
    </section>
  )
}

function Outcome({ run, isError }: { readonly run: Run; readonly isError: boolean }) {
  const { glyph, tone, word } = shownAs(run, isError)
  const passed = run.endedAt === undefined ? undefined : run.endedAt - run.startedAt
  const took = run.measured ? run.measured.duration_ms : passed
  return (
    <>
      <span className={`${tone} strong ${css.outcome}`}>
        <Glyph name={glyph} />
        {word}
      </span>
      {took !== undefined && <span>{duration(took)}</span>}
      {run.json !== undefined && (
        <span className="muted">
          {bytes(new TextEncoder().encode(run.json).length)} · {seconds(run.startedAt)}
        </span>
      )}
      {run.state === 'running' && <Elapsed since={run.startedAt} />}
    </>
  )
}

function Elapsed({ since }: { readonly since: number }) {
  const now = useNow(100)
  return <span className="muted">{duration(Math.max(0, now - since))}</span>
}

function shownAs(run: Run, isError: boolean): { glyph: GlyphName; tone: Tone; word: string } {
  if (run.state === 'running') return { glyph: 'work', tone: 'info', word: t('running') }
  if (run.state === 'cancelled') return { glyph: 'stop', tone: 'idle', word: t('cancelled') }
  if (run.state === 'failed') return { glyph: 'err', tone: 'err', word: t('failed') }
  return isError
    ? { glyph: 'err', tone: 'err', word: t('toolError') }
    : { glyph: 'run', tone: 'ok', word: t('ok') }
}

/** Progress and messages as they come. */
function Running({ run: { progress, messages } }: { readonly run: Run }) {
  return (
    <>
      {progress && (
        <div className={css.progress}>
          <progress
            value={progress.progress}
            {...(progress.total !== undefined && { max: progress.total })}
            aria-label={t('running')}
          />
          <span className="muted sm">
            {progress.progress}
            {progress.total !== undefined && ` / ${progress.total}`} {progress.message}
          </span>
        </div>
      )}
      {messages.length > 0 && (
        <div className={css.lines}>
          {messages.map(({ level, data }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: lines are only added
            <div key={index}>
              <span className="muted">{level}</span> {typeof data === 'string' ? data : JSON.stringify(data)}
            </div>
          ))}
        </div>
      )}
    </>
  )
}
