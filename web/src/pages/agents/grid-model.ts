import type { Entry } from '../../data/agent-files.ts'
import type { Agent } from '../../data/api.ts'
import { program } from '../../data/browser/program.ts'
import type { Server } from '../../data/servers.ts'
import { faultIn } from '../../format/fault.ts'
import { t } from './messages.ts'
import type { Staged } from './staged.ts'

/** What the grid shows, computed from the agents, the servers and what is staged. */

export type View = 'agents' | 'files'
export type Scope = Agent['scopes'][number]

export interface Column {
  readonly agent: Agent
  /** The file that is written. */
  readonly scope: Scope | undefined
  /** `gateway`: a change applies at once and writes no file. */
  readonly via: 'gateway' | 'direct'
  /** Why nothing can be read. */
  readonly unreadable: string | null
  /** The entries of each server, by its id. One that is linked to no server stands in the row of its name. */
  readonly entries: ReadonlyMap<string, readonly Entry[]>
}

export type CellState = 'on' | 'off' | 'some' | 'differs' | 'none'

export interface Cell {
  readonly state: CellState
  /** Beside the peg: `9/21`, `differs`. */
  readonly side: string | null
  /** Not written yet. */
  readonly isStaged: boolean
  /** Why it cannot be set. */
  readonly blocked: string | null
  /** The entries of this server in the file that is written. */
  readonly entries: readonly Entry[]
}

export type CellAt = (server: Server, column: Column) => Cell

export const columnOf = (agent: Agent, view: View): Column => {
  const scope = agent.scopes.find((each) => each.scope === 'user') ?? agent.scopes[0]
  const via = view === 'agents' && agent.connected_via === 'gateway' ? 'gateway' : 'direct'
  const entries = new Map<string, Entry[]>()
  for (const entry of agent.servers ?? []) {
    const id = entry.linked_server_id ?? entry.name
    entries.set(id, [...(entries.get(id) ?? []), entry])
  }
  return { agent, scope, via, unreadable: scope ? whyUnreadable(scope) : t('noFile'), entries }
}

function whyUnreadable({ exists, revision, parse_error, problem }: Scope): string | null {
  if (parse_error) return t('unreadable', { line: parse_error.line, message: faultIn(parse_error) })
  return exists && revision === null ? (problem ?? t('unknownProblem')) : null
}

export const isExposed = (server: Server): boolean => server.expose

export function cellOf(server: Server, column: Column, staged: Staged | undefined): Cell {
  const { scope, unreadable, via } = column
  const none = { state: 'none', side: null, isStaged: false, entries: [] } as const
  if (via === 'gateway') return gatewayCell(server, column)
  if (unreadable !== null) return { ...none, blocked: unreadable }
  const own = column.entries.get(server.id) ?? []
  const entries = own.filter((entry) => entry.scope === scope?.scope)
  const used = entries.filter(({ parked, enabled }) => !parked && enabled !== false)
  const elsewhere = own.find((entry) => entry.scope !== scope?.scope && entry.enabled !== false)
  const state = used.some(({ differs }) => differs.length > 0) ? 'differs' : used.length > 0 ? 'on' : 'off'
  const wanted = staged === undefined ? state : staged === 'off' ? 'off' : 'on'
  return {
    state: wanted,
    side: wanted === 'differs' ? t('differs') : null,
    isStaged: staged !== undefined,
    blocked: whyFixed(server, column, state, elsewhere, entries),
    entries: used,
  }
}

function whyFixed(
  server: Server,
  { agent, scope }: Column,
  state: CellState,
  elsewhere: Entry | undefined,
  entries: readonly Entry[],
): string | null {
  if (!scope?.writable) return t('notWritable')
  if (state !== 'off') return null
  if (elsewhere) return t('elsewhere', { scope: elsewhere.scope })
  if (entries.some(({ parked }) => parked) && agent.connected_via === 'gateway') return t('parked')
  const isRemote = server.type === 'http'
  const canReach = agent.transports.some((transport) => (transport === 'stdio') !== isRemote)
  return canReach ? null : t(isRemote ? 'noRemote' : 'noLocal', { agent: agent.name })
}

function gatewayCell(server: Server, { agent, entries }: Column): Cell {
  const { gateway_servers, visible } = agent
  const base = { side: null, isStaged: false, blocked: null, entries: [] } as const
  if (!isExposed(server)) return { ...base, state: 'none', blocked: t('notExposed') }
  const isOn = gateway_servers == null || gateway_servers.includes(server.id)
  const hasEntry = entries.get(server.id)?.some(({ parked }) => !parked) ?? false
  if (agent.keeps_names && !hasEntry) {
    const names = { agent: agent.name, server: server.id, type: agent.agent_type, program }
    return { ...base, state: 'off', blocked: t('needsEntry', names) }
  }
  if (!isOn) return { ...base, state: 'off' }
  // One that is stopped offers nothing now, which is not what was chosen for the agent.
  if (server.type === 'stdio' && server.status === 'stopped') return { ...base, state: 'on' }
  const seen = visible?.by_server.find(({ server_id }) => server_id === server.id)?.tools
  const all = server.tool_count
  const isPart = seen !== undefined && all !== null && seen < all
  return isPart ? { ...base, state: 'some', side: `${seen}/${all}` } : { ...base, state: 'on' }
}
