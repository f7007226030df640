import { useState } from 'react'
import { refreshAgents, runFileAction, useFileAction } from '../../data/agent-files.ts'
import { CHOICE, type ConnectChoice, ConnectChoices, FilePreview } from '../../parts/content/FileChange.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'
import type { Welcome } from './state.ts'
import css from './Welcome.module.css'

/** Step 4: the diff of every file, then the button that writes them. */
export function Changes({ welcome: { state, connect, set, go } }: { readonly welcome: Welcome }) {
  const [busy, setBusy] = useState(false)
  const [choices, setChoices] = useState<Readonly<Record<string, ConnectChoice>>>({})
  const agents = state.mode === 'gateway' ? connect : []

  async function write(): Promise<void> {
    setBusy(true)
    const wrote: string[] = []
    try {
      for (const agent_type of agents) {
        await runFileAction({ kind: 'connect', agent_type, ...(choices[agent_type] ?? CHOICE) }, false)
        wrote.push(agent_type)
      }
      set({ wrote, step: '5' }, { push: true })
    } catch (failure) {
      showFailure(failure)
      set({ wrote, connect: agents.filter((agent) => !wrote.includes(agent)) })
    } finally {
      setBusy(false)
      await refreshAgents()
    }
  }

  return (
    <>
      <div>
        <h1 className={css.title}>{t(agents.length === 0 ? 'noChanges' : 'changes')}</h1>
        <p className={css.lead}>{t(agents.length === 0 ? 'noChangesText' : 'changesText')}</p>
      </div>
      {agents.map((agent) => (
        <Preview
          key={agent}
          agent={agent}
          choice={choices[agent] ?? CHOICE}
          onChoose={(choice) => setChoices({ ...choices, [agent]: choice })}
        />
      ))}
      <div className={css.foot}>
        <span className="right" />
        <Act look="quiet" size="md" onClick={() => go('3')}>
          {t('back')}
        </Act>
        {agents.length === 0 ? (
          <Act look="main" size="md" onClick={() => go('5')}>
            {t('finish')}
          </Act>
        ) : (
          <Act look="main" size="md" changes busy={busy} onClick={() => void write()}>
            {t('write', { count: agents.length })}
          </Act>
        )}
      </div>
    </>
  )
}

interface PreviewProps {
  readonly agent: string
  readonly choice: ConnectChoice
  readonly onChoose: (choice: ConnectChoice) => void
}

function Preview({ agent, choice, onChoose }: PreviewProps) {
  const { data, error } = useFileAction({ kind: 'connect', agent_type: agent, ...choice })
  if (error) return <ErrorState error={error} />
  if (!data) return <Skeleton rows={8} height={20} />
  return (
    <>
      <ConnectChoices value={choice} had={data[0]?.gateway?.before.servers} onChange={onChoose} />
      {data.map((file) => (
        <FilePreview key={file.path} file={file} />
      ))}
    </>
  )
}
