import { useEffect, useState } from 'react'
import { useLocation } from 'wouter'
import { refreshAgents, undoWrite } from '../../data/agent-files.ts'
import { endFirstRun } from '../../data/first-run/first-run.ts'
import { seconds } from '../../format/format.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Monogram } from '../../parts/marks/Tag.tsx'
import { t } from './messages.ts'
import { StartAtLogin } from './StartAtLogin.tsx'
import type { FoundAgent, Welcome } from './state.ts'
import css from './Welcome.module.css'

const LOOK_EVERY_MS = 2000

/** Step 5: what was written, and whether each agent has connected. */
export function Done({ welcome: { found = [], state, set } }: { readonly welcome: Welcome }) {
  const [, navigate] = useLocation()
  const [busy, setBusy] = useState(false)
  useEffect(endFirstRun, [])
  const written = found.filter(({ agent }) => state.wrote.includes(agent.agent_type))
  const isWritten = written.length > 0 && !state.undone
  const isWaiting = isWritten && written.some(({ agent }) => agent.last_seen_at == null)
  // No message of the live stream says that an agent has connected.
  useEffect(() => {
    if (!isWaiting) return
    const timer = setInterval(() => void refreshAgents(), LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [isWaiting])

  async function undo(): Promise<void> {
    setBusy(true)
    try {
      for (const agent_type of state.wrote) await undoWrite({ agent_type, scope: 'user', backup_id: null })
      set({ undone: true })
    } catch (failure) {
      showFailure(failure)
    } finally {
      setBusy(false)
    }
  }

  const title = state.undone ? 'undone' : isWritten ? 'done' : 'doneNone'
  const first = written[0]?.agent.name
  return (
    <>
      <div>
        <h1 className={css.title}>{t(title)}</h1>
        <p className={css.lead}>{t(isWritten ? 'doneText' : 'doneNoneText')}</p>
      </div>
      {isWritten && (
        <ul className="card" aria-label={t('step5')}>
          {written.map((each) => (
            <Proof key={each.agent.agent_type} found={each} />
          ))}
        </ul>
      )}
      {isWritten && first && <p className="muted">{t('tryIt', { agent: first })}</p>}
      {isWritten && <StartAtLogin agents={written.map(({ agent }) => agent)} />}
      <div className={css.foot}>
        {isWritten && (
          <Act size="md" icon="undo" changes busy={busy} onClick={() => void undo()}>
            {t('undo')}
          </Act>
        )}
        <span className="right" />
        <Act look="quiet" size="md" onClick={() => navigate('/agents')}>
          {t('openGrid')}
        </Act>
        <Act look="main" size="md" onClick={() => navigate(isWritten ? '/traffic' : '/')}>
          {t(isWritten ? 'openTraffic' : 'openHome')}
        </Act>
      </div>
    </>
  )
}

function Proof({ found: { agent } }: { readonly found: FoundAgent }) {
  const { name, reload_hint, last_seen_at, visible } = agent
  return (
    <li className={css.agent}>
      <span />
      <Monogram name={name} />
      <b className="strong cut">{name}</b>
      <span className={`muted ${css.path}`}>{reload_hint}</span>
      {last_seen_at ? (
        <span className={`ok row ${css.proof}`}>
          <Glyph name="run" />
          {t('connected', { count: visible?.tools ?? 0, at: seconds(last_seen_at) })}
        </span>
      ) : (
        <span className={`idle row ${css.proof}`}>
          <Glyph name="idle" />
          {t('waiting', { agent: name })}
        </span>
      )}
    </li>
  )
}
