import { memo } from '../../kernel/memo.ts'
import { headerProblem } from '../../protocol/header-mirrors.ts'
import type { Definition } from '../../upstreams/catalogues.ts'
import { type OfferSettings, settingOf } from '../../upstreams/server-fields.ts'
import { type AgentTools, EVERYTHING } from '../visibility/visibility.schema.ts'
import { gather, type NamedTool, type Refused } from './tool-names.ts'
import { type Found, searchIn } from './tool-search.ts'
import { SEARCH_TOOLS } from './tool-search-definitions.ts'

export type OfferedTool = NamedTool<Definition>

/** What a server offers, as it said it itself, and what the person who runs it lets through. */
export interface Offering {
  readonly id: string
  readonly tools: readonly Definition[]
  readonly settings: OfferSettings
}

/** One server, or all of them together, as one agent sees them. */
export interface Offer {
  readonly mode: AgentTools['tool_mode']
  /** Of the name that an agent uses. In search mode it finds what is not listed, too. */
  readonly find: (name: string) => OfferedTool | undefined
  /** The best first. */
  readonly search: (query: string, limit: number) => Found
  /** The body of tools/list, ready to be sent, for either era. */
  readonly list: { readonly legacy: string; readonly modern: string }
  /** Everything that it may call, in a fixed order. */
  readonly tools: readonly OfferedTool[]
  /** The servers that it may use, also those without tools. */
  readonly servers: readonly string[]
}

/** Agents may keep the list so long; a change is told to those who listen. */
const TTL_MS = 60_000

/** Prepared once and kept until something changes: agents ask for it at every start, and mostly all at once. */
export class Offers {
  readonly #offered: () => readonly Offering[]
  readonly #sightOf: (agentType: string) => AgentTools | undefined
  readonly #isHeld: IsHeld
  #roof: Roof | undefined
  /** By what an agent may see, then by server. Who sees everything shares one. */
  #prepared = new WeakMap<AgentTools, Map<string, Offer>>()

  constructor(
    offered: () => readonly Offering[],
    sightOf: (agentType: string) => AgentTools | undefined = () => undefined,
    isHeld: IsHeld = () => false,
  ) {
    this.#offered = offered
    this.#sightOf = sightOf
    this.#isHeld = isHeld
  }

  /** A change of what an agent may see needs no such word: it is another record then. */
  changed(): void {
    this.#roof = undefined
    this.#prepared = new WeakMap()
  }

  /** Undefined when there is no such server, or not for this agent. Without an agent: everything that is offered. */
  of(serverId: string | undefined, agentType?: string): Offer | undefined {
    const sight = (agentType === undefined ? undefined : this.#sightOf(agentType)) ?? EVERYTHING
    const prepared = this.#prepared.get(sight)
    const known = prepared?.get(serverId ?? '')
    if (known) return known
    const offer = this.#prepare(serverId, sight)
    if (offer) this.#prepared.set(sight, new Map(prepared).set(serverId ?? '', offer))
    return offer
  }

  /** What the tools of a server are called where all servers are together, by their own names. */
  namesOf(serverId: string): ReadonlyMap<string, string> {
    return this.#everything().names.get(serverId) ?? NO_NAMES
  }

  /** Tools that no agent sees although nobody disabled them, each with the reason. */
  get refused(): readonly Refused[] {
    return this.#everything().refused
  }

  #everything(): Roof {
    this.#roof ??= roofOver(this.#offered().filter(({ settings }) => settings.expose))
    return this.#roof
  }

  #prepare(serverId: string | undefined, sight: AgentTools): Offer | undefined {
    const { servers, together } = this.#everything()
    const sees = eyesOf(sight)
    const seen = servers.filter(({ id }) => sees.server(id))
    const ids = seen.map(({ id }) => id)
    const tools = serverId === undefined ? together : seen.find(({ id }) => id === serverId)?.alone
    if (!tools) return undefined
    const mine = tools.filter(sees.tool)
    const open = mine.filter(({ server_id, definition }) => !this.#isHeld(server_id, definition))
    const offer = offerOf(open, serverId === undefined ? ids : [serverId], sight.tool_mode)
    if (open.length === mine.length) return offer
    // Who calls one that waits for approval is told that it waits, not that it does not exist.
    const byName = new Map(mine.map((tool) => [tool.name, tool]))
    return { ...offer, find: (name) => byName.get(name) }
  }
}

const NO_NAMES: ReadonlyMap<string, string> = new Map()

/** Whether a tool has changed and waits for approval. */
type IsHeld = (serverId: string, definition: Definition) => boolean

/** All that is offered to anybody. */
interface Roof {
  readonly servers: readonly { readonly id: string; readonly alone: readonly OfferedTool[] }[]
  readonly together: readonly OfferedTool[]
  readonly names: ReadonlyMap<string, ReadonlyMap<string, string>>
  readonly refused: readonly Refused[]
}

function roofOver(offered: readonly Offering[]): Roof {
  const sorted = [...offered].sort((a, b) => (a.id < b.id ? -1 : 1))
  const sifted = sorted.map((offering) => sift(offering))
  const { tools: together, refused } = gather(sifted)
  const names = new Map<string, Map<string, string>>(sifted.map(({ id }) => [id, new Map()]))
  for (const { server_id, tool, name } of together) names.get(server_id)?.set(tool, name)
  return {
    servers: sifted.map(({ id, tools }) => ({ id, alone: aloneOf(id, tools) })),
    together,
    names,
    refused: [...sifted.flatMap((each) => each.refused), ...refused],
  }
}

/** What is left when a person and the protocol have had their say. */
function sift({ id, tools, settings }: Offering) {
  const refused: Refused[] = []
  const kept = tools.flatMap((definition) => {
    const name = String(definition.name)
    const { enabled, alias } = settingOf(settings, name)
    if (!enabled) return []
    const reason = problemOf(definition)
    if (reason !== null) refused.push({ server_id: id, tool: name, reason })
    return reason === null ? [{ name, alias, definition }] : []
  })
  return { id, tools: kept, refused }
}

const problemOf = memo(({ inputSchema }: Definition): string | null => headerProblem(inputSchema) ?? null)

/** Under its own path a tool keeps its own name. Where an alias is the name of another tool, the first one has it. */
function aloneOf(server_id: string, tools: ReturnType<typeof sift>['tools']): OfferedTool[] {
  const byName = new Map<string, OfferedTool>()
  for (const { name: tool, alias, definition } of tools) {
    const name = alias ?? tool
    if (!byName.has(name)) byName.set(name, { name, server_id, tool, definition })
  }
  return [...byName.values()]
}

function eyesOf({ servers, tools }: AgentTools) {
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
