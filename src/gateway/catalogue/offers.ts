import { memo } from '../../kernel/memo.ts'
import type { Definition } from '../../protocol/lists.ts'
import { headerProblem } from '../../protocol/x-mcp-header.ts'
import { type OfferSettings, settingOf } from '../../upstreams/server-fields.ts'
import { type AgentTools, EVERYTHING } from '../visibility/visibility.schema.ts'
import type { Conflict } from './conflict.ts'
import { type NamedTool, nameTools } from './tool-names.ts'
import { type Found, searchIn } from './tool-search.ts'
import { SEARCH_TOOLS } from './tool-search-definitions.ts'

export type OfferedTool = NamedTool<Definition>

/** The tools of one server, and the settings that restrict them. */
export interface Offering {
  readonly id: string
  readonly tools: readonly Definition[]
  readonly settings: OfferSettings
}

/** The tools of one server, or of all together, that one agent sees. */
export interface Offer {
  readonly mode: AgentTools['tool_mode']
  /** Finds a tool by its gateway name. In search mode also tools that are not listed. */
  readonly find: (name: string) => OfferedTool | undefined
  /** The best matches first. */
  readonly search: (query: string, limit: number) => Found
  /** The result of tools/list for each era. */
  readonly list: { readonly legacy: string; readonly modern: string }
  /** All tools that the agent may call, in a fixed order. */
  readonly tools: readonly OfferedTool[]
  /** The servers that the agent may use, including those without tools. */
  readonly servers: readonly string[]
}

/** How long agents may cache the list. Subscribers are notified of changes earlier. */
const TTL_MS = 60_000

/** The offers of all agents, cached until something changes. */
export class Offers {
  readonly #offered: () => readonly Offering[]
  readonly #agentToolsOf: (agentType: string) => AgentTools | undefined
  readonly #isHeld: IsHeld
  #all: AllTools | undefined
  /** By the settings of an agent, then by server. Agents with the same settings share an offer. */
  #offers = new WeakMap<AgentTools, Map<string, Offer>>()

  constructor(
    offered: () => readonly Offering[],
    agentToolsOf: (agentType: string) => AgentTools | undefined = () => undefined,
    isHeld: IsHeld = () => false,
  ) {
    this.#offered = offered
    this.#agentToolsOf = agentToolsOf
    this.#isHeld = isHeld
  }

  /** Not needed when the settings of an agent change: they are another record then. */
  changed(): void {
    this.#all = undefined
    this.#offers = new WeakMap()
  }

  /** Undefined when the server does not exist or the agent may not use it. Without an agent: everything that is offered. */
  of(serverId: string | undefined, agentType?: string): Offer | undefined {
    const settings = (agentType === undefined ? undefined : this.#agentToolsOf(agentType)) ?? EVERYTHING
    const offers = this.#offers.get(settings)
    const known = offers?.get(serverId ?? '')
    if (known) return known
    const offer = this.#create(serverId, settings)
    if (offer) this.#offers.set(settings, new Map(offers).set(serverId ?? '', offer))
    return offer
  }

  /** The gateway names of a server's tools, by their own names. */
  namesOf(serverId: string): ReadonlyMap<string, string> {
    return this.#allTools().names.get(serverId) ?? NO_NAMES
  }

  /** Enabled tools that are not offered to any agent. */
  get conflicts(): readonly Conflict[] {
    return this.#allTools().conflicts
  }

  #allTools(): AllTools {
    this.#all ??= collectTools(this.#offered().filter(({ settings }) => settings.expose))
    return this.#all
  }

  #create(serverId: string | undefined, settings: AgentTools): Offer | undefined {
    const { servers, together } = this.#allTools()
    const filter = filterOf(settings)
    const visible = servers.filter(({ id }) => filter.server(id))
    const ids = visible.map(({ id }) => id)
    const tools = serverId === undefined ? together : visible.find(({ id }) => id === serverId)?.alone
    if (!tools) return undefined
    const allowed = tools.filter(filter.tool)
    const open = allowed.filter(({ server_id, definition }) => !this.#isHeld(server_id, definition))
    const offer = offerOf(open, serverId === undefined ? ids : [serverId], settings.tool_mode)
    if (open.length === allowed.length) return offer
    // A held tool is not listed, but a call of it gets an error that explains the approval.
    const byName = new Map(allowed.map((tool) => [tool.name, tool]))
    return { ...offer, find: (name) => byName.get(name) }
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

/** Whether a changed tool waits for approval. */
type IsHeld = (serverId: string, definition: Definition) => boolean

/** The tools of all servers. */
interface AllTools {
  readonly servers: readonly { readonly id: string; readonly alone: readonly OfferedTool[] }[]
  readonly together: readonly OfferedTool[]
  readonly names: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly conflicts: readonly Conflict[]
}

function collectTools(offered: readonly Offering[]): AllTools {
  const sorted = [...offered].sort((a, b) => (a.id < b.id ? -1 : 1))
  const enabled = sorted.map((offering) => enabledTools(offering))
  const { tools: together, conflicts } = nameTools(enabled)
  const names = new Map<string, Map<string, string>>(enabled.map(({ id }) => [id, new Map()]))
  for (const { server_id, tool, name } of together) names.get(server_id)?.set(tool, name)
  return {
    servers: enabled.map(({ id, tools }) => ({ id, alone: aloneOf(id, tools) })),
    together,
    names,
    conflicts: [...enabled.flatMap((each) => each.conflicts), ...conflicts],
  }
}

/** The tools that are enabled and that the protocol allows. */
function enabledTools({ id, tools, settings }: Offering) {
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
  const known = servers && new Set(servers)
  const byServer = new Map(Object.entries(tools).map(([id, names]) => [id, new Set(names)]))
  const server = (id: string): boolean => known === null || known.has(id)
  return {
    server,
    tool: ({ server_id, tool }: OfferedTool): boolean =>
      server(server_id) && byServer.get(server_id)?.has(tool) !== false,
  }
}

function offerOf(
  tools: readonly OfferedTool[],
  servers: readonly string[],
  mode: AgentTools['tool_mode'],
): Offer {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  let index: ReturnType<typeof searchIn> | undefined
  const listed = mode === 'search' ? SEARCH_TOOLS : tools.map(asListed)
  const text = JSON.stringify(listed)
  return {
    mode,
    find: (name) => byName.get(name),
    search(query, limit) {
      index ??= searchIn(tools.map(asListed))
      return index(query, limit)
    },
    list: {
      legacy: `{"tools":${text}}`,
      modern: `{"resultType":"complete","tools":${text},"ttlMs":${TTL_MS},"cacheScope":"private"}`,
    },
    tools,
    servers,
  }
}

const asListed = ({ name, definition }: OfferedTool): Definition => ({ ...definition, name })
