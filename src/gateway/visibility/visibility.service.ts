import { AppError, invalidField, pointer } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import type { Caller } from '../../kernel/wire.ts'
import { toolTokens } from '../../upstreams/tool-view.ts'
import type { Offers } from '../catalogue/offers.ts'
import { SEARCH_TOOLS } from '../catalogue/tool-search-definitions.ts'
import {
  type AgentTools,
  type AgentToolsInput,
  type AgentToolsView,
  EVERYTHING,
} from './visibility.schema.ts'

/** What is kept of what agents may see. Read from memory: it is asked for with every call. */
export interface AgentToolsStore {
  of(agentType: string): AgentTools | undefined
  /** `edit` sees the newest record and nothing comes between. False when it changes nothing. */
  change(agentType: string, edit: (current: AgentTools | undefined) => Edited | undefined): Promise<boolean>
}

interface Edited {
  readonly next: AgentTools
  readonly audit: AuditEntry
}

interface Deps {
  readonly store: AgentToolsStore
  readonly offers: Offers
  readonly facts: FactBus
  /** The type that is meant: of an agent, by its type or an alias, or of a key. */
  readonly typeOf: (agentType: string) => string | undefined
  readonly hasServer: (id: string) => boolean
}

const SEARCH_TOKENS = SEARCH_TOOLS.reduce((sum, tool) => sum + toolTokens(tool), 0)

/** Which tools each agent sees at the gateway, and what they cost it. */
export function createVisibility({ store, offers, facts, typeOf, hasServer }: Deps) {
  function known(agentType: string): string {
    const type = typeOf(agentType)
    if (type !== undefined) return type
    throw new AppError('not_found', `There is no agent '${agentType.slice(0, 100)}', and no key for one`)
  }

  function view(agent_type: string): AgentToolsView {
    const { tool_mode, servers, tools } = store.of(agent_type) ?? EVERYTHING
    const offer = offers.of(undefined, agent_type)
    const costs = new Map((offer?.servers ?? []).map((id) => [id, { tools: 0, tokens: 0 }]))
    for (const { server_id, definition } of offer?.tools ?? []) {
      const cost = costs.get(server_id)
      if (!cost) continue
      cost.tools += 1
      cost.tokens += toolTokens(definition)
    }
    const by_server = [...costs].map(([server_id, cost]) => ({ server_id, ...cost }))
    const tokens_full = by_server.reduce((sum, { tokens }) => sum + tokens, 0)
    return {
      agent_type,
      tool_mode,
      servers: servers && [...servers],
      tools: Object.fromEntries(Object.entries(tools).map(([id, names]) => [id, [...names]])),
      visible: {
        servers: by_server.length,
        tools: offer?.tools.length ?? 0,
        tokens: tool_mode === 'search' ? SEARCH_TOKENS : tokens_full,
      },
      tokens_full,
      by_server,
    }
  }

  function refuseUnknown({ servers, tools }: AgentToolsInput): void {
    for (const [at, id] of (servers ?? []).entries())
      if (!hasServer(id)) throw invalidField(`/servers/${at}`, `names no server: there is no '${id}'`)
    for (const id of Object.keys(tools ?? {}))
      if (!hasServer(id)) throw invalidField(`/tools/${pointer(id)}`, 'names no server')
  }

  return {
    get: (agentType: string): AgentToolsView => view(known(agentType)),

    async change(agentType: string, input: AgentToolsInput, by: Caller): Promise<AgentToolsView> {
      const type = known(agentType)
      refuseUnknown(input)
      const isChanged = await store.change(type, (before = EVERYTHING) => {
        const next = over(before, input)
        const changed = differenceOf(before, next)
        if (Object.keys(changed).length === 0) return undefined
        return { next, audit: { action: 'agent_tools_changed', subject: type, ...by, detail: { changed } } }
      })
      if (isChanged) facts.publish('agent_tools_changed', { agent_type: type })
      return view(type)
    },

    /** What its list of tools takes of an agent's context. */
    tokensOf: (agentType: string): number => view(agentType).visible.tokens,
  }
}
export type Visibility = ReturnType<typeof createVisibility>

/** What is given, over what there is. A server without a list has all its tools seen. */
function over(before: AgentTools, { tool_mode, servers, tools }: AgentToolsInput): AgentTools {
  const lists = Object.entries(tools ?? {}).flatMap(([id, names]) => (names ? [[id, names] as const] : []))
  return {
    tool_mode: tool_mode ?? before.tool_mode,
    servers: servers === undefined ? before.servers : servers,
    tools: tools === undefined ? before.tools : Object.fromEntries(lists),
  }
}

function differenceOf(
  before: AgentTools,
  after: AgentTools,
): Record<string, { before: unknown; after: unknown }> {
  const fields = ['tool_mode', 'servers', 'tools'] as const
  const changed = fields.filter((field) => JSON.stringify(before[field]) !== JSON.stringify(after[field]))
  return Object.fromEntries(changed.map((field) => [field, { before: before[field], after: after[field] }]))
}
