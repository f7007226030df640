import type { Server } from '../../data/servers.ts'
import { isBroken, shownStatus } from '../../parts/marks/status.ts'

/** The words of the filter: `crashed stdio`, `tag:work`, `tool:search`, `agent:cursor`. All of them have to match. */
export interface Filter {
  readonly words: readonly string[]
  readonly tags: readonly string[]
  readonly tools: readonly string[]
  readonly agents: readonly string[]
}

export function parseFilter(text: string): Filter {
  const parts = text
    .toLowerCase()
    .split(/[\s,]+/)
    .filter(Boolean)
  const after = (prefix: string) =>
    parts.filter((part) => part.startsWith(prefix)).map((part) => part.slice(prefix.length))
  return {
    words: parts.filter((part) => !/^(?:tag|tool|agent):/.test(part)),
    tags: after('tag:'),
    tools: after('tool:').filter(Boolean),
    agents: after('agent:'),
  }
}

export interface Known {
  /** The names of the agents that use the server. */
  readonly agents: readonly string[]
  /** The names of its tools, as far as the filter needs them. */
  readonly tools: readonly string[]
}

const KINDS = ['stdio', 'http', 'local', 'remote']

export function matches(server: Server, { words, tags, tools, agents }: Filter, known: Known): boolean {
  const isAmong = (list: readonly string[], part: string) =>
    list.some((each) => each.toLowerCase().includes(part))
  return (
    words.every((word) => matchesWord(server, word)) &&
    tags.every((tag) => server.tags.some((each) => each.toLowerCase().startsWith(tag))) &&
    tools.every((tool) => isAmong(known.tools, tool)) &&
    agents.every((agent) => isAmong(known.agents, agent))
  )
}

function matchesWord(server: Server, word: string): boolean {
  const isLocal = server.type === 'stdio'
  const kinds: readonly string[] = [server.type, isLocal ? 'local' : 'remote']
  if (KINDS.includes(word)) return kinds.includes(word)
  const where = server.type === 'stdio' ? [server.command, ...server.args] : [server.url]
  const texts = [server.name, server.id, server.status, shownStatus(server).word, ...server.tags, ...where]
  return texts.some((text) => text.toLowerCase().includes(word))
}

export const STATES = ['any', 'needs', 'running'] as const
export type State = (typeof STATES)[number]

export function hasState(server: Server, state: State): boolean {
  if (state === 'any') return true
  return state === 'needs' ? isBroken(server) : ['running', 'connected', 'degraded'].includes(server.status)
}
