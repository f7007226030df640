import { memo } from '../../kernel/memo.ts'
import { type Definition, renamed, writtenLike } from '../../mcp/protocol/listed-definitions.ts'
import { headerProblem } from '../../mcp/protocol/mcp-headers.ts'
import { type OfferSettings, settingOf } from '../../servers/shared/tool-settings.ts'
import { isForModel, withPages } from './app-pages.ts'
import { type ListResult, listResult } from './merge-prompts-and-resources.ts'
import { type Conflict, type NamedTool, nameTools } from './tool-names.ts'
import { indexInSlices, indexTools, SEARCH_MODE_TOOLS, type SearchResult } from './tool-search-index.ts'
import { type AgentTools, DEFAULT_AGENT_TOOLS } from './visibility.schema.ts'
import { wrap } from './wrapped-uri.ts'

export type OfferedTool = NamedTool<Definition>

/** The tools of one server, and the settings that restrict them. */
export interface ServerTools {
  readonly id: string
  readonly tools: readonly Definition[]
  readonly settings: OfferSettings
  /** Its tools keep their names, but are not listed. */
  readonly isStopped?: boolean
}

/** The tools of one server, or of all servers, that one agent sees. */
export interface AgentToolList {
  readonly mode: AgentTools['tool_mode']
  /** Finds a tool by its gateway name. In search mode also tools that are not listed. */
  readonly find: (name: string) => OfferedTool | undefined
  /** At `/mcp`: the tools that have this name on their servers. */
  readonly ownNamed: (name: string) => readonly OfferedTool[]
  readonly search: (query: string, limit: number) => SearchResult
  /** Builds the index for `search` without blocking other requests. */
  readonly prepareSearch: () => Promise<void>
  /** The result of tools/list. */
  readonly result: ListResult
  /** All tools that the agent may call, in a fixed order. */
  readonly tools: readonly OfferedTool[]
  /** The servers that the agent may use, including those without tools. */
  readonly servers: readonly string[]
}

/** Whether a changed tool waits for approval. */
type IsHeld = (serverId: string, definition: Definition) => boolean

/** The tool lists of all agents, cached until something changes. */
export class AgentToolLists {
  readonly #serverTools: () => readonly ServerTools[]
  readonly #agentToolsOf: (agentType: string) => AgentTools | undefined
  readonly #isHeld: IsHeld
  #all: AllTools | undefined
  readonly #settings = new Map<string, AgentTools>()
  /** By the settings of an agent, then by server. Agents with the same settings share a list. */
  #lists = new WeakMap<AgentTools, Map<string, AgentToolList>>()
  /** By the tools of an instance. Valid as long as the agent's list of the shared server is the same. */
  readonly #instanceLists = new WeakMap<
    readonly Definition[],
    { readonly shared: AgentToolList; readonly list: AgentToolList }
  >()

  constructor(
    serverTools: () => readonly ServerTools[],
    agentToolsOf: (agentType: string) => AgentTools | undefined,
    isHeld: IsHeld = () => false,
  ) {
    this.#serverTools = serverTools
    this.#agentToolsOf = agentToolsOf
    this.#isHeld = isHeld
  }

  /** Call when the settings of an agent have changed. Returns whether that affects a server, or all servers together. */
  settingsChanged(agentType: string): (serverId: string | undefined) => boolean {
    const before = this.#settings.get(agentType)
    const after = this.#settingsOf(agentType)
    const partOf = ({ tool_mode, tools }: AgentTools, serverId: string) =>
      JSON.stringify([tool_mode, tools[serverId]])
    return (serverId) =>
      !before || serverId === undefined || partOf(before, serverId) !== partOf(after, serverId)
  }

  /** Call when a server or its tools have changed. */
  changed(): void {
    this.#all = undefined
    this.#lists = new WeakMap()
  }

  /** Undefined when the server does not exist or the agent may not use it. Without an agent: everything that is offered. */
  of(serverId: string | undefined, agentType?: string): AgentToolList | undefined {
    const settings = this.#settings.get(agentType ?? '') ?? this.#settingsOf(agentType)
    const lists = this.#lists.get(settings)
    const cached = lists?.get(serverId ?? '')
    if (cached) return cached
    const list = this.#create(serverId, settings)
    if (list) this.#lists.set(settings, new Map(lists).set(serverId ?? '', list))
    return list
  }

  /** What an agent with these settings would see. Not cached. */
  ofSettings(settings: AgentTools): AgentToolList | undefined {
    return this.#create(undefined, settings)
  }

  /** The tools of a server that runs for one client alone. Undefined when the agent may not use the server. */
  ofInstance(serverId: string, agentType: string, tools: readonly Definition[]): AgentToolList | undefined {
    const shared = this.of(serverId, agentType)
    const server = this.#serverTools().find(({ id }) => id === serverId)
    if (!shared || !server) return undefined
    const known = this.#instanceLists.get(tools)
    if (known && known.shared === shared) return known.list
    const settings = this.#settings.get(agentType) ?? this.#settingsOf(agentType)
    const { servers } = collectTools([{ ...server, tools }])
    const list = this.#listOf(servers[0]?.alone ?? [], settings, [serverId])
    this.#instanceLists.set(tools, { shared, list })
    return list
  }

  /** Whether an agent may use a server, if that is offered. */
  mayUse(serverId: string, agentType: string): boolean {
    return this.#filterFor(agentType).server(serverId)
  }

  /** A tool by its name alone, for a server whose tools are not known. Undefined when the agent may not call it. */
  unlisted(server_id: string, name: string, agentType: string): OfferedTool | undefined {
    const settings = this.#serverTools().find(({ id }) => id === server_id)?.settings
    if (!settings?.expose) return undefined
    const tool = Object.entries(settings.tools).find(([, { alias }]) => alias === name)?.[0] ?? name
    const found = { name, server_id, tool, definition: {} }
    const { enabled, alias } = settingOf(settings, tool)
    const isOffered = enabled && (alias ?? tool) === name
    return isOffered && this.#filterFor(agentType).tool(found) ? found : undefined
  }

  /** The gateway names of a server's tools, by their own names. */
  namesOf(serverId: string): ReadonlyMap<string, string> {
    return this.#allTools().names.get(serverId) ?? NO_NAMES
  }

  /** Enabled tools that are not offered to any agent. */
  get conflicts(): readonly Conflict[] {
    return this.#allTools().conflicts
  }

  #filterFor(agentType: string) {
    return filterOf(this.#settings.get(agentType) ?? this.#settingsOf(agentType))
  }

  #settingsOf(agentType = ''): AgentTools {
    const settings = (agentType === '' ? undefined : this.#agentToolsOf(agentType)) ?? DEFAULT_AGENT_TOOLS
    this.#settings.set(agentType, settings)
    return settings
  }

  #allTools(): AllTools {
    this.#all ??= collectTools(this.#serverTools().filter(({ settings }) => settings.expose))
    return this.#all
  }

  #create(serverId: string | undefined, settings: AgentTools): AgentToolList | undefined {
    const { servers, together } = this.#allTools()
    const filter = filterOf(settings)
    const visible = servers.filter(({ id }) => filter.server(id))
    if (serverId === undefined) {
      const ids = visible.map(({ id }) => id)
      return this.#listOf(together, settings, ids, 'together')
    }
    const alone = visible.find(({ id }) => id === serverId)?.alone
    return alone && this.#listOf(alone, settings, [serverId])
  }

  #listOf(
    tools: readonly OfferedTool[],
    settings: AgentTools,
    servers: readonly string[],
    together?: 'together',
  ): AgentToolList {
    const listed = together ? asListedTogether : asListed
    const allowed = tools.filter(filterOf(settings).tool)
    const { stopped } = this.#allTools()
    const open = allowed.filter(
      ({ server_id, definition }) => !stopped.has(server_id) && !this.#isHeld(server_id, definition),
    )
    const byName = new Map(allowed.map((tool) => [tool.name, tool]))
    const isSearch = settings.tool_mode === 'search'
    let index: ReturnType<typeof indexTools> | undefined
    let indexing: Promise<void> | undefined
    // In the mode `full`, hosts hide what is not meant for the model.
    const searched = () => open.filter(({ definition }) => isForModel(definition)).map(listed)
    let ownNames: ReadonlyMap<string, readonly OfferedTool[]> | undefined
    return {
      mode: settings.tool_mode,
      // Held tools and those of stopped servers are found, too, so that a call of one gets an error with the reason.
      find: (name) => byName.get(name),
      ownNamed(name) {
        const isOurs = (tool: string) => isSearch && SEARCH_MODE_TOOLS.some((each) => each.name === tool)
        ownNames ??= byOwnName(together ? allowed.filter(({ tool }) => !isOurs(tool)) : [])
        return ownNames.get(name) ?? []
      },
      search(query, limit) {
        index ??= indexTools(searched())
        return index(query, limit)
      },
      prepareSearch() {
        indexing ??= indexInSlices(searched()).then((made) => {
          index = made
        })
        return indexing
      },
      result: listResult('tools', isSearch ? SEARCH_MODE_TOOLS : open.map(listed)),
      tools: open,
      servers,
    }
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

/** The tools of all servers. */
interface AllTools {
  readonly servers: readonly { readonly id: string; readonly alone: readonly OfferedTool[] }[]
  readonly together: readonly OfferedTool[]
  readonly names: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly conflicts: readonly Conflict[]
  readonly stopped: ReadonlySet<string>
}

function collectTools(servers: readonly ServerTools[]): AllTools {
  const enabled = servers.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map(enabledTools)
  const { tools: together, conflicts } = nameTools(enabled)
  const names = new Map<string, Map<string, string>>(enabled.map(({ id }) => [id, new Map()]))
  for (const { server_id, tool, name } of together) names.get(server_id)?.set(tool, name)
  return {
    servers: enabled.map(({ id, tools }) => ({ id, alone: aloneOf(id, tools) })),
    together,
    names,
    conflicts: [...enabled.flatMap((each) => each.conflicts), ...conflicts],
    stopped: new Set(servers.filter(({ isStopped }) => isStopped).map(({ id }) => id)),
  }
}

/** The tools that are enabled and that the protocol allows. */
function enabledTools({ id, tools, settings }: ServerTools) {
  const conflicts: Conflict[] = []
  const kept = tools.flatMap((definition) => {
    const name = String(definition.name)
    const { enabled, alias } = settingOf(settings, name)
    if (!enabled) return []
    const reason = problemOf(definition)
    if (reason !== null) conflicts.push({ server_id: id, kind: 'tool', name, reason })
    return reason === null ? [{ name, alias, definition }] : []
  })
  return { id, tools: kept, conflicts }
}

const problemOf = memo(({ inputSchema }: Definition): string | null => headerProblem(inputSchema) ?? null)

/** At `/mcp/{server_id}` a tool keeps its own name. If an alias equals the name of another tool, the first one keeps it. */
function aloneOf(server_id: string, tools: ReturnType<typeof enabledTools>['tools']): OfferedTool[] {
  const byName = new Map<string, OfferedTool>()
  for (const { name: tool, alias, definition } of tools) {
    const name = alias ?? tool
    if (!byName.has(name)) byName.set(name, { name, server_id, tool, definition })
  }
  return [...byName.values()]
}

function filterOf({ servers, tools }: AgentTools) {
  const allowed = servers && new Set(servers)
  const byServer = new Map(Object.entries(tools).map(([id, names]) => [id, new Set(names)]))
  const server = (id: string): boolean => allowed === null || allowed.has(id)
  return {
    server,
    tool: ({ server_id, tool }: OfferedTool): boolean =>
      server(server_id) && byServer.get(server_id)?.has(tool) !== false,
  }
}

const asListed = ({ name, definition }: OfferedTool): Definition => renamed(definition, { name })

/** At `/mcp` also the page of a tool has our URI. */
function asListedTogether({ name, server_id, definition }: OfferedTool): Definition {
  const copy = withPages(definition, (uri) => wrap(server_id, uri))
  return renamed(copy === definition ? definition : writtenLike(definition, copy), { name })
}

function byOwnName(tools: readonly OfferedTool[]): ReadonlyMap<string, readonly OfferedTool[]> {
  const named = new Map<string, OfferedTool[]>()
  for (const each of tools) {
    const others = named.get(each.tool)
    if (others) others.push(each)
    else named.set(each.tool, [each])
  }
  return named
}
