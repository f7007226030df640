import { useMemo } from 'react'
import { useLocation } from 'wouter'
import { type Server, useServerAction, useServers } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { showFailure } from '../../parts/controls/toasts.tsx'
import type { IconName } from '../../parts/marks/icons.tsx'
import { t } from '../messages.ts'
import { PAGES } from '../pages.ts'

/** What the palette can run and where it can go. */
export interface Command {
  readonly id: string
  readonly group: 'run' | 'go'
  readonly label: string
  readonly hint?: string
  readonly icon: IconName
  readonly keys?: string
  /** The state stands beside what the command acts on. */
  readonly server?: Server
  readonly run: () => void
}

export function useCommands(): Command[] {
  const { servers = [] } = useServers()
  const { mayChange } = useSession()
  const { mutate } = useServerAction()
  const [, navigate] = useLocation()
  return useMemo(() => {
    const onError = (error: unknown) => showFailure(error)
    const verbs = mayChange
      ? servers.flatMap((server) =>
          verbsOf(server).map(
            ({ action, label, icon }): Command => ({
              id: `${action} ${server.id}`,
              group: 'run',
              label,
              icon,
              server,
              run: () => mutate({ id: server.id, action }, { onError }),
            }),
          ),
        )
      : []
    const places = PAGES.map(
      ({ path, title, icon, key }): Command => ({
        id: path,
        group: 'go',
        label: title,
        icon,
        keys: `g ${key}`,
        run: () => navigate(path),
      }),
    )
    const pages = servers.map(
      (server): Command => ({
        id: `server ${server.id}`,
        group: 'go',
        label: server.name,
        hint: t('serverKind'),
        icon: 'servers',
        server,
        run: () => navigate(`/servers/${server.id}`),
      }),
    )
    return [...verbs, ...places, ...pages]
  }, [servers, mayChange, mutate, navigate])
}

function verbsOf({ type, status, name }: Server) {
  if (type === 'http') return []
  const isUp = ['running', 'starting', 'backoff', 'idle'].includes(status)
  const restart = { action: 'restart', label: t('restart', { name }), icon: 'restart' } as const
  const stop = { action: 'stop', label: t('stop', { name }), icon: 'stop' } as const
  const start = { action: 'start', label: t('start', { name }), icon: 'play' } as const
  return isUp ? [restart, stop] : [start, restart]
}

/** All words must occur, in any order. A command in which more of them begin a word comes first. */
export function search(commands: readonly Command[], query: string): Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return commands.filter(({ group }) => group === 'go')
  return commands
    .filter(({ label, hint = '' }) => {
      const text = `${label} ${hint}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .toSorted((a, b) => beginnings(b, words) - beginnings(a, words))
}

function beginnings({ label }: Command, words: readonly string[]): number {
  const found = label.toLowerCase().split(/[\s_-]+/)
  return words.filter((word) => found.some((each) => each.startsWith(word))).length
}
