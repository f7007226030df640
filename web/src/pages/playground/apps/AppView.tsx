import { useEffect, useRef, useState } from 'react'
import { api } from '../../../data/api.ts'
import { duration } from '../../../format/format.ts'
import { Act } from '../../../parts/controls/Act.tsx'
import { Glyph } from '../../../parts/marks/Glyph.tsx'
import { CauseStrip } from '../../../parts/states/CauseStrip.tsx'
import { ErrorState } from '../../../parts/states/ErrorState.tsx'
import { t } from '../messages.ts'
import page from '../Playground.module.css'
import type { Run } from '../use-run.ts'
import css from './AppView.module.css'
import { type AppCall, openBridge } from './bridge.ts'

const [LOWEST, HIGHEST] = [80, 800]

interface Props {
  readonly uri: string
  readonly run: Run
  readonly result: unknown
}

/** The page that a server shows beside its result, in a frame of its own, and every call that it makes. */
export function AppView({ uri, run, result }: Props) {
  const frame = useRef<HTMLIFrameElement>(null)
  const [url, setUrl] = useState<string>()
  const [error, setError] = useState<unknown>()
  const [height, setHeight] = useState(240)
  const [calls, setCalls] = useState<readonly AppCall[]>([])
  const [link, setLink] = useState<string>()
  const { target, args } = run
  useEffect(() => {
    let isOver = false
    api()
      .post('/api/app-frames', { body: { server_id: target.server, uri } })
      .then(
        (opened) => !isOver && setUrl(opened.url),
        (failed: unknown) => !isOver && setError(failed),
      )
    return () => {
      isOver = true
    }
  }, [target.server, uri])
  useEffect(() => {
    if (!frame.current || url === undefined) return
    return openBridge({
      frame: frame.current,
      target,
      input: JSON.parse(args),
      result,
      theme: document.documentElement.dataset.mantineColorScheme ?? 'light',
      onCall: (call) =>
        setCalls((before) =>
          [...before.filter(({ key }) => key !== call.key), call].sort((a, b) => a.key - b.key),
        ),
      onHeight: (asked) => setHeight(Math.min(HIGHEST, Math.max(LOWEST, Math.ceil(asked)))),
      onLink: setLink,
    })
  }, [url, target, args, result])
  if (error) return <ErrorState error={error} />
  return (
    <div className={css.app}>
      {url === undefined ? (
        <p className="muted">{t('appLoading')}</p>
      ) : (
        <iframe
          ref={frame}
          className={css.frame}
          style={{ height }}
          title={t('appTitle', { tool: target.tool })}
          sandbox="allow-scripts"
          src={url}
        />
      )}
      {link !== undefined && (
        <CauseStrip tone="info" sentence={t('appAsked', { url: link })}>
          <a href={link} target="_blank" rel="noreferrer noopener" onClick={() => setLink(undefined)}>
            {t('open')}
          </a>
          <Act size="xs" onClick={() => setLink(undefined)}>
            {t('noThanks')}
          </Act>
        </CauseStrip>
      )}
      {calls.length > 0 && <Calls calls={calls} />}
    </div>
  )
}

const MARKS = {
  running: { glyph: 'work', tone: 'info', word: t('running') },
  done: { glyph: 'run', tone: 'ok', word: t('ok') },
  failed: { glyph: 'err', tone: 'err', word: t('failed') },
  cancelled: { glyph: 'stop', tone: 'idle', word: t('cancelled') },
} as const

function Calls({ calls }: { readonly calls: readonly AppCall[] }) {
  return (
    <section aria-label={t('appCalls')}>
      <h2 className={page.label}>{t('appCalls')}</h2>
      <ul>
        {calls.map(({ key, tool, args, state, startedAt, endedAt, cancel }) => (
          <li key={key} className={css.call}>
            <span className={MARKS[state].tone}>
              <Glyph name={MARKS[state].glyph} />
            </span>
            <span className="mono">{tool}</span>
            <span className="mono muted cut grow">{args}</span>
            <span className="muted sm">
              {MARKS[state].word}
              {endedAt !== undefined && ` · ${duration(endedAt - startedAt)}`}
            </span>
            {state === 'running' && (
              <Act size="xs" onClick={cancel}>
                {t('stop')}
              </Act>
            )}
          </li>
        ))}
      </ul>
    </section>
  )
}
