import { useState } from 'react'
import { useLocation } from 'wouter'
import { useAgents } from '../../data/agents.ts'
import type { Notice } from '../../data/api.ts'
import { useServerAction, useServers } from '../../data/servers.ts'
import { Act } from '../../parts/controls/Act.tsx'
import { showDone, showFailure } from '../../parts/controls/toasts.tsx'
import { Glyph } from '../../parts/marks/Glyph.tsx'
import { Repair } from '../../parts/repair/Repair.tsx'
import { firstSentence, lastLineOf } from '../../parts/server/cause.ts'
import { t } from './messages.ts'
import css from './NeedsYou.module.css'

const FIRST = 5

/** What needs the user, the worst first. When nothing does, the list is gone. */
export function NeedsYou({ notices }: { readonly notices: readonly Notice[] }) {
  const [isWhole, setWhole] = useState(false)
  const shown = isWhole ? notices : notices.slice(0, FIRST)
  const rest = notices.length - FIRST
  return (
    <section className="card" aria-label={t('needsYou')}>
      <ul>
        {shown.map((notice) => (
          <Item key={notice.id} notice={notice} />
        ))}
      </ul>
      {rest > 0 && (
        <div className={css.more}>
          <Act size="xs" look="quiet" onClick={() => setWhole(!isWhole)}>
            {isWhole ? t('fewer') : t('more', { count: rest })}
          </Act>
        </div>
      )}
    </section>
  )
}

function Item({ notice }: { readonly notice: Notice }) {
  const name = useNameOf(notice)
  const { text, evidence } = useSaid(notice, name)
  const tone = { error: 'err', warn: 'warn', info: 'info' }[notice.level]
  return (
    <li className={css.item}>
      <span className={css.name}>
        <span className={tone}>
          <Glyph name={notice.level === 'error' ? 'err' : 'look'} />
        </span>
        <span className="cut">{name}</span>
      </span>
      <span className={css.text} title={notice.text}>
        {text} {evidence && <span className={`mono ${tone} ${css.evidence}`}>{evidence}</span>}
      </span>
      <span className={css.actions}>
        <Actions notice={notice} name={name} />
      </span>
    </li>
  )
}

/** Of a server that is down: the word of its state, how often it crashed, and the decisive line that it wrote. What to do is behind Why. */
function useSaid(notice: Notice, name: string): { readonly text: string; readonly evidence: string | null } {
  const { servers = [] } = useServers()
  const { server_id, kind, evidence } = notice
  const server = servers.find(({ id }) => id === server_id)
  const line = server && RESTARTABLE.includes(kind) ? lastLineOf(server) : null
  if (line === null || server?.type !== 'stdio')
    return { text: firstSentence(withoutName(notice.text, name)), evidence: evidence ?? null }
  const { restart_count, health } = server
  const isGivenUp = health.state === 'failed'
  return { text: isGivenUp ? t('failed') : t('crashed', { count: restart_count + 1 }), evidence: line }
}

const RESTARTABLE: readonly Notice['kind'][] = ['server_crashed', 'server_failed']

function Actions({ notice, name }: { readonly notice: Notice; readonly name: string }) {
  const [, navigate] = useLocation()
  const { servers = [] } = useServers()
  const action = useServerAction()
  const { server_id, kind } = notice
  const server = servers.find(({ id }) => id === server_id)
  const repair = <Repair action={notice.action} server={server} size="xs" />
  if (!server || !RESTARTABLE.includes(kind)) return repair
  const restart = () =>
    action.mutate(
      { id: server.id, action: 'restart' },
      { onSuccess: () => showDone(t('starting', { name })), onError: (error) => showFailure(error) },
    )
  const isRestart = ['start', 'start_docker', 'set_secret'].includes(notice.action.kind)
  return (
    <>
      <Act size="xs" look="quiet" onClick={() => navigate(notice.action.route)}>
        {t('why')}
      </Act>
      {repair}
      {server.type === 'stdio' && !isRestart && (
        <Act size="xs" icon="restart" changes busy={action.isPending} onClick={restart}>
          {t('restart')}
        </Act>
      )}
    </>
  )
}

function useNameOf({ server_id, agent_type }: Notice): string {
  const { servers = [] } = useServers()
  const { data: agents = [] } = useAgents()
  if (server_id !== null) return servers.find(({ id }) => id === server_id)?.name ?? server_id
  if (agent_type !== null) return agents.find((agent) => agent.agent_type === agent_type)?.name ?? agent_type
  return t('toolroom')
}

/** The name stands beside the sentence, so the sentence need not begin with it. */
function withoutName(text: string, name: string): string {
  const quoted = `'${name}' `
  const rest = text.startsWith(quoted) ? text.slice(quoted.length) : text.replace(` of '${name}'`, '')
  const sentence = rest.charAt(0).toUpperCase() + rest.slice(1)
  return /[.!?]$/.test(sentence) ? sentence : `${sentence}.`
}
