import { useState } from 'react'
import { refreshAgents, runFileAction, useFileAction } from '../../data/agent-files.ts'
import { FilePreview, FollowChoice } from '../../parts/content/FileChange.tsx'
import { Act } from '../../parts/controls/Act.tsx'
import { showFailure } from '../../parts/controls/toasts.tsx'
import { ErrorState } from '../../parts/states/ErrorState.tsx'
import { Skeleton } from '../../parts/states/Skeleton.tsx'
import { t } from './messages.ts'
import { type Welcome, without } from './state.ts'
import css from './Welcome.module.css'

/** Step 4: the diff of every file, then the button that writes them. */
export function Changes({ welcome: { state, connect, set, go } }: { readonly welcome: Welcome }) {
  const [busy, setBusy] = useState(false)
  const [following, setFollowing] = useState<readonly string[]>([])
  const agents = state.mode === 'gateway' ? connect : []

  async function write(): Promise<void> {
    setBusy(true)
    const wrote: string[] = []
    try {
      for (const agent_type of agents) {
        await runFileAction({ kind: 'connect', agent_type, all: following.includes(agent_type) }, false)
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
          all={following.includes(agent)}
          onFollow={(all) => setFollowing(without(following, agent, !all))}
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
  readonly all: boolean
  readonly onFollow: (all: boolean) => void
}

function Preview({ agent, all, onFollow }: PreviewProps) {
  const { data, error } = useFileAction({ kind: 'connect', agent_type: agent, all })
  if (error) return <ErrorState error={error} />
  if (!data) return <Skeleton rows={8} height={20} />
  return (
    <>
      <FollowChoice all={all} onChange={onFollow} />
      {data.map((file) => (
        <FilePreview key={file.path} file={file} />
      ))}
    </>
  )
}
