import type { Server } from '../../data/servers.ts'
import type { CellAt, Column } from './grid-model.ts'

/**
 * The order of the service, which does not depend on what is on: a write moves no column. Those of which nothing can be
 * read come last.
 */
export const sortColumns = (columns: readonly Column[]): Column[] =>
  columns.toSorted((a, b) => Number(a.unreadable !== null) - Number(b.unreadable !== null))

/** Where there is no room for all: the agents with most entries. */
export function largest(columns: readonly Column[], most: number): string[] {
  const rank = ({ agent, unreadable, via }: Column) =>
    (unreadable === null ? 0 : 1000) - (via === 'gateway' ? 500 : 0) - agent.server_count
  return columns
    .toSorted((a, b) => rank(a) - rank(b))
    .slice(0, most)
    .map(({ agent }) => agent.agent_type)
}

export interface Load {
  readonly tools: number
  readonly tokens: number
  /** Its servers have tools, but none of them was started yet. */
  readonly isUnknown?: boolean
}

/** What the agent's context holds: now, or when everything is written. */
export function loadOf(column: Column, servers: readonly Server[], cellAt: CellAt): Load {
  const on = servers.filter((server) => ['on', 'differs', 'some'].includes(cellAt(server, column).state))
  const isUnknown = on.length > 0 && on.every(({ tool_count }) => tool_count === null)
  if (column.via === 'gateway' && column.agent.visible) {
    const { tools, tokens } = column.agent.visible
    return { tools, tokens, isUnknown: isUnknown && tools === 0 }
  }
  const sum = (field: 'tool_count' | 'tool_tokens') =>
    on.reduce((total, server) => total + (server[field] ?? 0), 0)
  return { tools: sum('tool_count'), tokens: sum('tool_tokens'), isUnknown }
}
