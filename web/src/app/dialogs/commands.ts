import { useQueries } from '@tanstack/react-query'
import { useCallback, useMemo } from 'react'
import { useLocation } from 'wouter'
import { type Server, toolsQuery, useServerAction, useServers } from '../../data/servers.ts'
import { useSession } from '../../data/session.ts'
import { showFailure } from '../../parts/controls/toasts.tsx'
import type { IconName } from '../../parts/marks/icons.tsx'
import { t } from '../messages.ts'
import { useDestinations } from './destinations.ts'

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

/** `withTools`: also every tool, which reads the lists of all servers. */
export function useCommands(withTools: boolean, onHelp: () => void): Command[] {
  const { servers = [] } = useServers()
  const { mayChange } = useSession()
  const { mutate } = useServerAction()
  const [, navigate] = useLocation()
  const tools = useToolCommands(servers, withTools)
  const others = useDestinations(onHelp)
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
    return [...verbs, ...others, ...pages, ...tools]
  }, [servers, mayChange, mutate, navigate, tools, others])
}

/** "Call create_issue": opens the tool in the Playground. */
function useToolCommands(servers: readonly Server[], enabled: boolean): readonly Command[] {
  const [, navigate] = useLocation()
  const listed = useMemo(
    () => (enabled ? servers.filter(({ tool_count }) => tool_count) : []),
    [servers, enabled],
  )
  return useQueries({
    queries: listed.map((server) => toolsQuery(server)),
    combine: useCallback(
      (lists: readonly { readonly data?: { readonly items: readonly { readonly name: string }[] } }[]) =>
        lists.flatMap(({ data }, index) => {
          const server = listed[index]
          if (!data || !server) return []
          return data.items.map(
            ({ name }): Command => ({
              id: `call ${server.id} ${name}`,
              group: 'run',
              label: t('callTool', { tool: name }),
              hint: server.name,
              icon: 'play',
              run: () =>
                navigate(`/playground?${new URLSearchParams({ server: server.id, tool: name }).toString()}`),
            }),
          )
        }),
      [listed, navigate],
    ),
  })
}
function verbsOf({ type, status, name }: Server) {
  if (type === 'http') return []
  const isUp = ['running', 'starting', 'backoff', 'idle'].includes(status)
  const restart = { action: 'restart', label: t('restart', { name }), icon: 'restart' } as const
  const stop = { action: 'stop', label: t('stop', { name }), icon: 'stop' } as const
  const start = { action: 'start', label: t('start', { name }), icon: 'play' } as const
  return isUp ? [restart, stop] : [start, restart]
}

/**
 * All words must occur, in any order. A command in which more of them begin a word comes first, then one that was used
 * lately. Without words: what was used lately, and all places.
 */
export function search(
  commands: readonly Command[],
  query: string,
  lately: readonly string[] = [],
): readonly Command[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean)
  const rank = new Map(lately.map((id, index) => [id, lately.length - index]))
  const used = ({ id }: Command) => rank.get(id) ?? 0
  if (words.length === 0)
    return commands
      .filter((command) => command.group === 'go' || used(command) > 0)
      .toSorted((a, b) => used(b) - used(a))
  return commands
    .filter(({ label, hint = '' }) => {
      const text = `${label} ${hint}`.toLowerCase()
      return words.every((word) => text.includes(word))
    })
    .map((command) => ({ command, begins: beginnings(command, words), used: used(command) }))
    .toSorted((a, b) => b.begins - a.begins || b.used - a.used)
    .map(({ command }) => command)
}

function beginnings({ label }: Command, words: readonly string[]): number {
  const found = label.toLowerCase().split(/[\s_-]+/)
  return words.filter((word) => found.some((each) => each.startsWith(word))).length
}
