import { KeyedQueue } from '../../kernel/async/keyed-queue.ts'
import { unknownName } from '../../kernel/did-you-mean.ts'
import { invalidField, pointer } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus } from '../../kernel/fact-bus.ts'
import { memo } from '../../kernel/memo.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import type { Adding } from '../../servers/shared/server-fields.ts'
import { toolTokens } from '../../servers/shared/tool-view.ts'
import type { AgentToolList, AgentToolLists } from './agent-tool-lists.ts'
import { SEARCH_MODE_TOOLS } from './tool-search-index.ts'
import {
  type AgentTools,
  type AgentToolsInput,
  type AgentToolsView,
  DEFAULT_AGENT_TOOLS,
} from './visibility.schema.ts'

/** Answers from memory, because every call reads it. */
export interface AgentToolsStore {
  of(agentType: string): AgentTools | undefined
  /** By agent type: every agent whose tools were chosen. */
  all(): ReadonlyMap<string, AgentTools>
  /**
   * `edit` gets the current record; changes of one agent never overlap. False when `edit` returns undefined. `frees`: it
   * belongs to a change that is possible on a full disk.
   */
  change(
    agentType: string,
    edit: (current: AgentTools | undefined) => Edited | undefined,
    frees?: boolean,
  ): Promise<boolean>
}

interface Edited {
  readonly next: AgentTools
  readonly audit: AuditEntry
}

interface Deps {
  readonly store: AgentToolsStore
  readonly toolLists: AgentToolLists
  readonly facts: FactBus
  /** Resolves an agent type, an alias of one, or the agent type of a key. */
  readonly typeOf: (agentType: string) => string | undefined
  readonly knownTypes: () => readonly string[]
  readonly serverIds: () => readonly string[]
  /** The agents with a key. */
  readonly connectedTypes: () => readonly string[]
}

const SEARCH_TOKENS = SEARCH_MODE_TOOLS.reduce((sum, tool) => sum + toolTokens(tool), 0)

/** The tools that each agent sees at the gateway, and their token cost. */
export function createVisibility(deps: Deps) {
  const { store, toolLists, facts, typeOf, knownTypes, serverIds, connectedTypes } = deps
  /** Two servers that are added at once would change the same choices. */
  const turns = new KeyedQueue()

  function resolve(agentType: string): string {
    const type = typeOf(agentType)
    if (type !== undefined) return type
    const message = `Neither an agent nor a gateway key has the type '${agentType.slice(0, 100)}'`
    throw unknownName(message, agentType, knownTypes())
  }

  const view = (agent_type: string): AgentToolsView =>
    viewOf(agent_type, store.of(agent_type) ?? DEFAULT_AGENT_TOOLS, toolLists.of(undefined, agent_type))

  function viewOf(
    agent_type: string,
    { tool_mode, servers, tools }: AgentTools,
    list: AgentToolList | undefined,
  ): AgentToolsView {
    const { by_server, tokens_full } = list ? costsOf(list) : NOTHING
    return {
      agent_type,
      tool_mode,
      servers: servers && [...servers],
      tools: Object.fromEntries(Object.entries(tools).map(([id, names]) => [id, [...names]])),
      visible: {
        servers: by_server.length,
        tools: list?.tools.length ?? 0,
        tokens: tool_mode === 'search' ? SEARCH_TOKENS : tokens_full,
      },
      tokens_full,
      by_server: [...by_server],
    }
  }

  function refuseUnknownServers({ servers, tools }: Pick<AgentToolsInput, 'servers' | 'tools'>): void {
    const known = new Set(serverIds())
    const hasServer = (id: string) => known.has(id)
    for (const [index, id] of (servers ?? []).entries())
      if (!hasServer(id))
        throw invalidField(`/servers/${index}`, `must be the id of a server: no server has the id '${id}'`)
    for (const id of Object.keys(tools ?? {}))
      if (!hasServer(id)) throw invalidField(`/tools/${pointer(id)}`, 'must be the id of a server')
  }

  /** `edit` gets the newest choice. */
  async function save(
    type: string,
    edit: (before: AgentTools) => AgentTools,
    by: Caller,
    frees = false,
  ): Promise<void> {
    const edited = (before = DEFAULT_AGENT_TOOLS) => {
      const next = edit(before)
      const changed = differenceOf(before, next)
      if (Object.keys(changed).length === 0) return undefined
      return {
        next,
        audit: { action: 'agent_tools_changed', subject: type, ...by, detail: { changed } },
      } as const
    }
    const isChanged = await store.change(type, edited, frees)
    if (isChanged) facts.publish('agent_tools_changed', { agent_type: type })
  }

  async function change(
    agentType: string,
    input: AgentToolsInput,
    by: Caller,
    frees = false,
  ): Promise<AgentToolsView> {
    const type = resolve(agentType)
    refuseUnknownServers(input)
    await save(type, (before) => withInput(before, input), by, frees)
    return view(type)
  }

  /**
   * A new server may get the id of one that was deleted. Who had chosen that one has not chosen this one. The tools that were
   * chosen of it stay: they hide others.
   */
  async function forgetDeleted(by: Caller): Promise<void> {
    const known = new Set(serverIds())
    for (const [type, { servers }] of [...store.all()]) {
      if (servers?.every((id) => known.has(id)) ?? true) continue
      const kept = (now: AgentTools) => now.servers?.filter((id) => known.has(id)) ?? null
      await save(type, (now) => ({ ...now, servers: kept(now) }), by)
    }
  }

  async function addFor<T extends { readonly id: string }>(
    named: ReadonlySet<string> | undefined,
    by: Caller,
    add: () => Promise<T>,
  ): Promise<T> {
    const others = named ? [...new Set(connectedTypes())].filter((type) => !named.has(type)) : []
    const pinned = new Map<string, readonly string[]>()
    const pin = (type: string, now: AgentTools): AgentTools => {
      if (now.servers !== null) return now
      const servers = [...serverIds()]
      pinned.set(type, servers)
      return { ...now, servers }
    }
    const added = await (async () => {
      // Before there is a server, so that no agent sees it for a moment.
      for (const type of others) await save(type, (now) => pin(type, now), by)
      return add()
    })().catch(async (error) => {
      // Who has got another choice meanwhile keeps it.
      const back = (now: AgentTools, servers: readonly string[]) =>
        now.servers === servers ? { ...now, servers: null } : now
      for (const [type, servers] of pinned) await save(type, (now) => back(now, servers), by)
      throw error
    })
    for (const type of [...store.all().keys()])
      if (named?.has(type) ?? true)
        await save(type, (now) => (now.servers ? { ...now, servers: [...now.servers, added.id] } : now), by)
    return added
  }

  return {
    refuseUnknownServers,
    change,
    get: (agentType: string): AgentToolsView => view(resolve(agentType)),

    /** What the agent would see after a change. */
    preview(agentType: string, input: AgentToolsInput): AgentToolsView {
      const type = resolve(agentType)
      const next = withInput(store.of(type) ?? DEFAULT_AGENT_TOOLS, input)
      return viewOf(type, next, toolLists.ofSettings(next))
    },

    /** Adds a server that exactly these agents see. If none are named: those that follow all servers. */
    adding: (async (agents, by, add) => {
      const named = Array.isArray(agents) ? new Set(agents.map(resolve)) : undefined
      return turns.take('add', async () => {
        await forgetDeleted(by)
        return agents === undefined ? add() : addFor(named, by, add)
      })
    }) satisfies Adding,

    /** What the grid shows of the agent: the same object until it changes. */
    visibleTo(agentType: string): ReturnType<typeof visibleIn> {
      const list = toolLists.of(undefined, agentType)
      return list ? visibleIn(list) : NO_TOOLS
    },

    /** The servers that were chosen for the agent, or null for all. */
    chosenFor: (agentType: string): readonly string[] | null => store.of(agentType)?.servers ?? null,

    /** The tokens that the agent's tool list takes in its context. */
    tokensOf: (agentType: string): number => view(agentType).visible.tokens,
  }
}
export type Visibility = ReturnType<typeof createVisibility>

const NOTHING = { by_server: [], tokens_full: 0 }

/** Counted once for each list: it stays the same until something changes, and many agents share it. */
const costsOf = memo((list: AgentToolList) => {
  const costs = new Map(list.servers.map((id) => [id, { tools: 0, tokens: 0 }]))
  for (const { server_id, definition } of list.tools) {
    const cost = costs.get(server_id)
    if (!cost) continue
    cost.tools += 1
    cost.tokens += toolTokens(definition)
  }
  const by_server = [...costs].map(([server_id, cost]) => ({ server_id, ...cost }))
  return { by_server, tokens_full: by_server.reduce((sum, { tokens }) => sum + tokens, 0) }
})

const NO_TOOLS = { tools: 0, tokens: 0, by_server: [] }

const visibleIn = memo((list: AgentToolList) => {
  const { by_server, tokens_full } = costsOf(list)
  return { tools: list.tools.length, tokens: list.mode === 'search' ? SEARCH_TOKENS : tokens_full, by_server }
})

/** A server without an entry in `tools` shows all its tools. */
function withInput(before: AgentTools, { tool_mode, servers, tools }: AgentToolsInput): AgentTools {
  return {
    tool_mode: tool_mode ?? before.tool_mode,
    servers: servers === undefined ? before.servers : servers,
    tools: tools === undefined ? before.tools : toolNamesOf(tools),
  }
}

/** Null means all tools of a server, as no entry does. */
export function toolNamesOf(tools: NonNullable<AgentToolsInput['tools']>): AgentTools['tools'] {
  return Object.fromEntries(
    Object.entries(tools).flatMap(([id, names]) => (names ? [[id, names] as const] : [])),
  )
}

function differenceOf(
  before: AgentTools,
  after: AgentTools,
): Record<string, { before: unknown; after: unknown }> {
  const fields = ['tool_mode', 'servers', 'tools'] as const
  const changed = fields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
  return Object.fromEntries(changed.map((field) => [field, { before: before[field], after: after[field] }]))
}
