import { memo } from '../../kernel/memo.ts'
import { maskArgs, maskCommand, maskUrl, maskValues } from '../../kernel/secrets/mask-secrets.ts'
import { publicArgs, publicCommand } from '../../kernel/secrets/public-command.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Detected } from '../catalogue/agent-catalogue.ts'
import type { Agent } from '../catalogue/agent-record.ts'
import { readGatewayEntry } from '../catalogue/gateway-entry.ts'
import { readEntry } from '../catalogue/read-entry.ts'
import type { Definition, RegisteredServer } from '../catalogue/server-definition.ts'
import { type FileRecord, keepsNamesIn, type OwnedEntry } from '../files/ownership-store.ts'
import type { AgentSummary, EffectiveEntry, EntryView, Visible } from './agents.schema.ts'
import { driftOf, type KnownFile } from './drift.ts'
import type { Entry, SeenFile } from './read-entries.ts'
import { differsFrom, linkedServer, type SecretOf } from './server-identity.ts'

export function summaryOf(
  agent: Agent,
  { installed, by }: Detected,
  files: readonly KnownFile[],
): AgentSummary {
  const entries = files.flatMap(({ state }) => state.entries)
  return {
    agent_type: agent.type,
    name: agent.name,
    installed,
    transports: (['stdio', 'http', 'sse'] as const).filter((transport) => agent[transport] !== null),
    detected_by: by,
    scopes: files.map(({ state }) => scopeView(state)),
    server_count: entries.length,
    managed_count: files.reduce((sum, each) => sum + managedIn(each).length, 0),
    drift: files.flatMap(driftOf),
    reload_hint: agent.reload,
  }
}

function scopeView({ config, content, entries, parseError, problem, writable }: SeenFile) {
  const { scope, path, format, note, ambiguous } = config
  const several =
    ambiguous.length > 0 ? `The agent may use any of several files: ${ambiguous.join(', ')}` : null
  return {
    scope,
    path,
    format,
    exists: content !== undefined || parseError !== null || problem !== null,
    writable,
    revision: content?.revision ?? null,
    server_count: entries.length,
    parse_error: parseError,
    problem: problem ?? several,
    note,
  }
}

const managedIn = ({ state, record }: KnownFile): Entry[] =>
  state.entries.filter(({ name }) => ownedEntry(record, name) !== undefined)

const ownedEntry = (record: FileRecord | undefined, name: string): OwnedEntry | undefined =>
  record && Object.hasOwn(record.entries, name) ? record.entries[name] : undefined

interface EntryFacts {
  readonly agent: Agent
  readonly registered: readonly RegisteredServer[]
  /** The caller has the token, and so sees more of a command. */
  readonly isOwner: boolean
  readonly secretOf: SecretOf
}

/** The entries of each file, then those of it that are parked. */
export const entryViews = (files: readonly KnownFile[], facts: EntryFacts): EntryView[] =>
  files.flatMap((file) => viewsOf(file, facts))

function viewsOf({ state, record }: KnownFile, facts: EntryFacts): EntryView[] {
  const { agent, registered, isOwner, secretOf } = facts
  const scope = state.config.scope
  const link = (name: string, definition: Definition | null) => {
    const owned = ownedEntry(record, name)
    const made = owned?.server_id ?? null
    const isKnown = made !== null && registered.some(({ id }) => id === made)
    const linked_server_id = isKnown ? made : (linkedServer(definition, registered, secretOf)?.id ?? null)
    const server = registered.find(({ id }) => id === (linked_server_id ?? name))
    const differs = differsFrom(definition, server, isKnown || linked_server_id === null)
    return { managed: owned !== undefined && !owned.own, linked_server_id, differs, scope }
  }
  const inFile = state.entries.map((entry): EntryView => {
    const { name, definition, enabled, problem } = entry
    return {
      name,
      ...masked(definition, isOwner),
      enabled,
      parked: false,
      ...link(name, definition),
      line: state.lines.get(entry) ?? null,
      problem,
    }
  })
  const parked = Object.entries(record?.entries ?? {}).flatMap(([name, owned]): EntryView[] => {
    if (owned.parked === null || state.entries.some((entry) => entry.name === name)) return []
    const { definition, problem } = readEntry(agent, name, owned.parked)
    return [
      {
        name,
        ...masked(definition, isOwner),
        enabled: false,
        parked: true,
        ...link(name, definition),
        line: null,
        problem,
      },
    ]
  })
  const taken = (record?.taken_over?.entries ?? []).map((entry): EntryView => {
    const { definition, problem } = readEntry(agent, entry.name, entry.value)
    return {
      name: entry.name,
      ...masked(definition, isOwner),
      enabled: false,
      parked: true,
      managed: entry.owned !== null,
      linked_server_id: registered.some(({ id }) => id === entry.server_id) ? entry.server_id : null,
      differs: [],
      scope: entry.scope,
      line: null,
      problem,
    }
  })
  return [...inFile, ...parked, ...taken]
}

type Shown = Pick<EntryView, 'type' | 'command' | 'args' | 'env' | 'cwd' | 'url' | 'headers'>

const masked = (definition: Definition | null, isOwner: boolean): Shown =>
  definition ? (isOwner ? forOwner : forPublic)(definition) : { type: null }

const forOwner = memo((definition: Definition): Shown => {
  if (definition.type !== 'stdio') {
    const { type, url, headers } = definition
    return { type, url: maskUrl(url), headers: maskValues(headers) }
  }
  const { type, command, args, env, cwd } = definition
  return { type, command: maskCommand(command), args: maskArgs(args), env: maskValues(env), cwd }
})

const forPublic = memo((definition: Definition): Shown => {
  if (definition.type !== 'stdio') return forOwner(definition)
  const { command, args } = definition
  return { ...forOwner(definition), command: publicCommand(command), args: publicArgs(command, args) }
})

/** What the grid shows of the gateway. */
export interface GatewayView {
  /** The same object until it changes. */
  readonly visibleTo: (agentType: string) => Visible
  /** The servers that were chosen for the agent, or null for all. The same list until it changes. */
  readonly chosenFor: (agentType: string) => readonly string[] | null
  /** When a key of each agent was last used. */
  readonly lastSeen: () => ReadonlyMap<string, number>
}

export function gridFields(
  files: readonly KnownFile[],
  entries: readonly EntryView[],
  visible: Visible,
  chosen: readonly string[] | null,
  seenAt: number | undefined,
): Required<
  Pick<
    AgentSummary,
    'visible' | 'gateway_servers' | 'connected_via' | 'starts_toolroom' | 'keeps_names' | 'last_seen_at'
  >
> {
  const gateways = gatewaysIn(files)
  const isConnected = gateways.length > 0
  return {
    visible,
    gateway_servers: chosen && [...chosen],
    connected_via: isConnected ? 'gateway' : entries.some(isLinked) ? 'direct' : null,
    starts_toolroom: isConnected && gateways.every(({ starts }) => starts),
    keeps_names: files.some(({ record }) => keepsNamesIn(record)),
    last_seen_at: seenAt === undefined ? null : isoTime(seenAt),
  }
}

const gatewaysIn = (files: readonly KnownFile[]) =>
  files.flatMap(({ state }) =>
    state.entries.flatMap(({ definition, enabled }) => {
      const gateway = definition && enabled !== false && gatewayOf(definition)
      return gateway ? [gateway] : []
    }),
  )

const gatewayOf = memo((definition: Definition) => readGatewayEntry(definition) ?? null)

const isLinked = ({ linked_server_id, enabled, parked }: EntryView): boolean =>
  linked_server_id !== null && enabled !== false && !parked

/** The entries that the agent uses: where several have the same name, the one from the strongest scope. */
export function effectiveEntries(files: readonly KnownFile[], facts: EntryFacts): EffectiveEntry[] {
  const { precedence } = facts.agent
  const rank = (scope: string) => (precedence.includes(scope) ? precedence.indexOf(scope) : precedence.length)
  const all = [...files]
    .sort((a, b) => rank(a.state.config.scope) - rank(b.state.config.scope))
    .flatMap((file) =>
      viewsOf(file, facts).map((entry) => ({ ...entry, path: file.state.config.path, shadows: [] })),
    )
  const winners = new Map<string, EffectiveEntry>()
  for (const entry of all.filter(({ parked }) => !parked)) {
    const winner = winners.get(entry.name)
    if (!winner) winners.set(entry.name, entry)
    else {
      const { scope, path, line } = entry
      winners.set(entry.name, { ...winner, shadows: [...winner.shadows, { scope, path, line }] })
    }
  }
  return [...winners.values()]
}
