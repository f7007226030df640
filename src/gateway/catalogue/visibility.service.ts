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
  /** `edit` gets the current record; changes of one agent never overlap. False when `edit` returns undefined. */
  change(agentType: string, edit: (current: AgentTools | undefined) => Edited | undefined): Promise<boolean>
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

  async function change(agentType: string, input: AgentToolsInput, by: Caller): Promise<AgentToolsView> {
    const type = resolve(agentType)
    refuseUnknownServers(input)
    const isChanged = await store.change(type, (before = DEFAULT_AGENT_TOOLS) => {
      const next = withInput(before, input)
      const changed = differenceOf(before, next)
      if (Object.keys(changed).length === 0) return undefined
      return { next, audit: { action: 'agent_tools_changed', subject: type, ...by, detail: { changed } } }
    })
    if (isChanged) facts.publish('agent_tools_changed', { agent_type: type })
    return view(type)
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
      if (agents === undefined) return add()
      const named = agents === 'all' ? undefined : new Set(agents.map(resolve))
      const followsAll = (type: string) => (store.of(type)?.servers ?? null) === null
      const others = named ? [...new Set(connectedTypes())].filter((type) => !named.has(type)) : []
      // Before there is a server, so that no agent sees it for a moment.
      const kept = others.filter(followsAll)
      for (const type of kept) await change(type, { servers: [...serverIds()] }, by)
      const added = await add().catch(async (error) => {
        for (const type of kept) await change(type, { servers: null }, by)
        throw error
      })
      for (const [type, { servers }] of store.all()) {
        const isChosen = named?.has(type) ?? true
        if (isChosen && servers) await change(type, { servers: [...servers, added.id] }, by)
      }
      return added
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
