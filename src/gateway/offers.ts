import { gather, type NamedTool, type Refused } from './tool-names.ts'

type Definition = Readonly<Record<string, unknown>>

/** What a server offers, as it said it itself. */
export interface Offering {
  readonly id: string
  readonly tools: readonly Definition[]
}

/** One server, or all of them together. */
export interface Offer {
  /** Of the name that an agent uses. */
  readonly find: (name: string) => { readonly server_id: string; readonly tool: string } | undefined
  /** The body of tools/list, ready to be sent, for either era. */
  readonly list: { readonly legacy: string; readonly modern: string }
  readonly refused: readonly Refused[]
}

/** Agents may keep the list so long; a change is told to those who listen. */
const TTL_MS = 60_000

/** Prepared once and kept until something changes: agents ask for it at every start, and mostly all at once. */
export class Offers {
  readonly #offered: () => readonly Offering[]
  readonly #prepared = new Map<string, Offer>()

  constructor(offered: () => readonly Offering[]) {
    this.#offered = offered
  }

  changed(): void {
    this.#prepared.clear()
  }

  /** Undefined when there is no such server. */
  of(serverId: string | undefined): Offer | undefined {
    const key = serverId ?? ''
    const known = this.#prepared.get(key)
    if (known) return known
    const offer = serverId === undefined ? everything(this.#offered()) : alone(serverId, this.#offered())
    if (offer) this.#prepared.set(key, offer)
    return offer
  }
}

function everything(offered: readonly Offering[]): Offer {
  const { tools, refused } = gather(offered.map(({ id, tools: all }) => ({ id, tools: all.map(nameAnd) })))
  return offerOf(tools, refused)
}

function alone(serverId: string, offered: readonly Offering[]): Offer | undefined {
  const server = offered.find(({ id }) => id === serverId)
  if (!server) return undefined
  const tools = server.tools.map(nameAnd).map(({ name, definition }) => {
    return { name, server_id: serverId, tool: name, definition }
  })
  return offerOf(tools, [])
}

const nameAnd = (definition: Definition) => ({ name: String(definition.name), definition })

function offerOf(tools: readonly NamedTool<Definition>[], refused: readonly Refused[]): Offer {
  const byName = new Map(tools.map((tool) => [tool.name, tool]))
  const text = JSON.stringify(tools.map(({ name, definition }) => ({ ...definition, name })))
  return {
    find: (name) => byName.get(name),
    list: {
      legacy: `{"tools":${text}}`,
      modern: `{"resultType":"complete","tools":${text},"ttlMs":${TTL_MS},"cacheScope":"private"}`,
    },
    refused,
  }
}
