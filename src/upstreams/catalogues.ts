import { createHash } from 'node:crypto'
import type { FactBus } from '../kernel/facts.ts'
import { memo } from '../kernel/memo.ts'
import { isoTime } from '../kernel/time.ts'
import type { HeldChange, Tool, ToolDiff, ToolList } from '../kernel/tool-fields.ts'
import { type OfferSettings, settingOf } from './server-fields.ts'

/** A tool as its server describes it. */
export type Definition = Readonly<Record<string, unknown>>

/** What a server offers besides tools, each as it sent them. */
export interface OtherLists {
  readonly prompts: readonly Definition[]
  readonly resources: readonly Definition[]
  readonly resource_templates: readonly Definition[]
}

/** What a server said of itself and of its tools when it was last asked. */
export interface Catalogue extends OtherLists {
  readonly protocol_version: string
  readonly server_info: Definition
  readonly capabilities: Definition
  readonly instructions: string | null
  /** How an HTTP server was reached. */
  readonly transport?: 'streamable_http' | 'sse'
  /** As the server sent them, unknown fields included, secrets hidden. */
  readonly tools: readonly Definition[]
  readonly truncated: boolean
  /** Tools that were left out because an earlier one has their name. */
  readonly duplicates: number
  readonly fetched_at: number
}

/** What is learned at once. The other lists come later, each when it is there. */
export type Heard = Omit<Catalogue, 'fetched_at' | keyof OtherLists>

const NOTHING_ELSE: OtherLists = { prompts: [], resources: [], resource_templates: [] }
/** What must be declared, and in which word a change is told. */
const KIND_OF = { prompts: 'prompts', resources: 'resources', resource_templates: 'resources' } as const

/** What is kept of it between two starts of Toolroom. */
export interface CatalogueStore {
  all(): Promise<ReadonlyMap<string, Catalogue>>
  /** Leaves out servers that are gone. */
  save(catalogues: ReadonlyMap<string, Catalogue>): Promise<void>
}

/** Which definitions of tools are approved. */
export interface Pinning {
  /** Notes what is new. Gives the tools that are no longer as they were approved, and what is another in them. */
  look(server_id: string, tools: readonly Definition[]): { changed: string[]; diffs: ToolDiff[] }
  /** Those that wait for approval, by name. */
  heldIn(server_id: string, tools: readonly Definition[]): ReadonlyMap<string, HeldChange>
  forget(server_id: string): void
}

interface Deps {
  readonly store: CatalogueStore
  readonly pins: Pinning
  readonly facts: FactBus
  /** Hides our secrets in what a server says. */
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly onTrouble: (server_id: string | null, error: unknown) => void
}

/** When many servers start together, one commit keeps what all of them said. */
const SAVE_AFTER_MS = 250
const MAX_CHARACTERS = 8 * 1024 * 1024

/** The tools of every server that ever ran, in memory and in the store. */
export class Catalogues {
  readonly #deps: Deps
  readonly #byServer: Map<string, Catalogue>
  readonly #unsaved = new Set<string>()
  #timer: NodeJS.Timeout | undefined

  private constructor(deps: Deps, known: ReadonlyMap<string, Catalogue>) {
    this.#deps = deps
    this.#byServer = new Map(known)
  }

  static async open(deps: Deps): Promise<Catalogues> {
    const known = [...(await deps.store.all())]
    for (const [id, { tools }] of known) deps.pins.look(id, tools)
    // What an older Toolroom kept has no other lists.
    return new Catalogues(deps, new Map(known.map(([id, each]) => [id, { ...NOTHING_ELSE, ...each }])))
  }

  of(id: string): Catalogue | undefined {
    return this.#byServer.get(id)
  }

  forget(id: string): void {
    this.#byServer.delete(id)
    this.#unsaved.delete(id)
    this.#deps.pins.forget(id)
  }

  /** Tools that agents do not see until somebody has approved what changed in them. */
  held(id: string): ReadonlyMap<string, HeldChange> {
    return this.#deps.pins.heldIn(id, this.#byServer.get(id)?.tools ?? [])
  }

  learned(id: string, heard: Heard): void {
    const before = this.#byServer.get(id)
    const said = this.#bounded(id, heard)
    const others = before ? othersAfter(before, said) : NOTHING_ELSE
    const catalogue = { ...said, ...others, fetched_at: this.#deps.now() }
    // First, so that no tool is seen by anybody before it was compared with what was approved.
    const seen = this.#deps.pins.look(id, catalogue.tools)
    if (!this.#keep(id, before, catalogue) && seen.changed.length === 0) return
    const difference = differenceOf(before?.tools ?? [], catalogue.tools)
    const changed = [...new Set([...difference.changed, ...seen.changed])]
    const isOther = changed.length + difference.added.length + difference.removed.length > 0
    if (before && !isOther) return
    const { length: tool_count } = catalogue.tools
    const fact = { server_id: id, ...difference, changed, diffs: seen.diffs, tool_count }
    this.#deps.facts.publish('tools_changed', fact)
  }

  /** One of the other lists of a server that has said its tools. */
  listed(id: string, kind: keyof OtherLists, items: readonly Definition[]): void {
    const before = this.#byServer.get(id)
    if (!before) return
    const { [kind]: _, tools, ...rest } = before
    const taken = [tools, rest].reduce((sum, part) => sum + JSON.stringify(part).length, 0)
    const kept = this.#fitting(id, items, MAX_CHARACTERS - taken)
    this.#keep(id, before, { ...before, [kind]: kept, fetched_at: this.#deps.now() })
  }

  /** False when nothing is new. */
  #keep(id: string, before: Catalogue | undefined, catalogue: Catalogue): boolean {
    this.#byServer.set(id, catalogue)
    if (before && contentOf(before) === contentOf(catalogue)) return false
    this.#unsaved.add(id)
    this.#timer ??= setTimeout(() => void this.save(), SAVE_AFTER_MS)
    const kinds = changedKinds(before ?? NOTHING_ELSE, catalogue)
    if (kinds.length > 0) this.#deps.facts.publish('lists_changed', { server_id: id, kinds })
    return true
  }

  /** What was learned is kept: soon by itself, and before the end. */
  async save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const changed = new Map<string, Catalogue>()
    for (const id of this.#unsaved) {
      const catalogue = this.#byServer.get(id)
      if (catalogue) changed.set(id, catalogue)
    }
    this.#unsaved.clear()
    if (changed.size === 0) return
    await this.#deps.store.save(changed).catch((error: unknown) => this.#deps.onTrouble(null, error))
  }

  /** Nothing in it that is secret, too deep to be written, or more than a store should hold. */
  #bounded(id: string, heard: Heard): Heard {
    const tools = this.#fitting(id, heard.tools, MAX_CHARACTERS)
    const { server_info, capabilities, instructions } = this.#clean(
      id,
      { server_info: heard.server_info, capabilities: heard.capabilities, instructions: heard.instructions },
      { server_info: {}, capabilities: {}, instructions: null },
    )
    const truncated = heard.truncated || tools.length < heard.tools.length
    return { ...heard, server_info, capabilities, instructions, tools, truncated }
  }

  #fitting(id: string, definitions: readonly Definition[], characters: number): readonly Definition[] {
    let room = characters
    const kept: Definition[] = []
    for (const definition of definitions) {
      const cleaned = this.#clean<Definition | undefined>(id, definition, undefined)
      room -= cleaned ? JSON.stringify(cleaned).length : 0
      if (room < 0) break
      if (cleaned) kept.push(cleaned)
    }
    return kept
  }

  #clean<T>(id: string, value: T, otherwise: T): T {
    try {
      const text = JSON.stringify(value)
      const redacted = this.#deps.redact(text)
      sorted(value) // deeper than writing goes
      return redacted === text ? value : JSON.parse(redacted)
    } catch (error) {
      this.#deps.onTrouble(id, error) // nested so deeply that it cannot be written
      return otherwise
    }
  }
}

/** They stay as they were known until the server has said them anew, unless it no longer has any, or no room is left. */
function othersAfter(before: OtherLists, { capabilities, tools }: Heard): OtherLists {
  const others = {
    prompts: capabilities.prompts ? before.prompts : [],
    resources: capabilities.resources ? before.resources : [],
    resource_templates: capabilities.resources ? before.resource_templates : [],
  }
  const characters = JSON.stringify(others).length + JSON.stringify(tools).length
  return characters <= MAX_CHARACTERS ? others : NOTHING_ELSE
}

function changedKinds(before: OtherLists, after: OtherLists): ('prompts' | 'resources')[] {
  const names = Object.keys(KIND_OF) as (keyof OtherLists)[]
  const changed = names.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]))
  return [...new Set(changed.map((name) => KIND_OF[name]))]
}

/** The tools as anybody may see them. */
const toolsOf = memo((catalogue: Catalogue): readonly Said[] => catalogue.tools.map(toolOf))
type Said = Omit<Tool, 'enabled' | 'gateway_name' | 'state' | 'change'>

export const tokensOf = memo((catalogue: Catalogue): number =>
  toolsOf(catalogue).reduce((sum, { tokens }) => sum + tokens, 0),
)

/** What agents make of the tools of one server. */
interface Offered {
  readonly settings: OfferSettings
  /** What the gateway calls those that it offers, by their own names. */
  readonly names: ReadonlyMap<string, string>
  /** Those that wait for approval. */
  readonly held: ReadonlyMap<string, HeldChange>
}

export function toolListOf(
  catalogue: Catalogue,
  source: ToolList['source'],
  { settings, names, held }: Offered,
): ToolList {
  const items = toolsOf(catalogue).map((tool) => {
    const { enabled } = settingOf(settings, tool.name)
    const change = held.get(tool.name) ?? null
    const state = change ? ('held' as const) : ('ok' as const)
    return { ...tool, enabled, gateway_name: names.get(tool.name) ?? null, state, change }
  })
  const { truncated, duplicates } = catalogue
  const fetched_at = isoTime(catalogue.fetched_at)
  return { items, total: items.length, next_cursor: null, source, fetched_at, truncated, duplicates }
}

/** About what a tool takes of an agent's context: what it reads before it can choose, four characters to a token. */
export const toolTokens = memo(({ name, description, inputSchema }: Definition): number =>
  Math.ceil(JSON.stringify([name, description ?? '', inputSchema ?? {}]).length / 4),
)

function toolOf(definition: Definition): Said {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition
  return {
    name: String(name),
    title: textOr(title),
    description: textOr(description),
    input_schema: objectOr(inputSchema) ?? {},
    output_schema: objectOr(outputSchema),
    annotations: objectOr(annotations),
    tokens: toolTokens(definition),
    hash: hashOf(definition),
  }
}

const textOr = (value: unknown): string | null => (typeof value === 'string' ? value : null)
const objectOr = (value: unknown): Record<string, unknown> | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : null

/** The same for the same definition, whatever the order of its keys. */
export const hashOf = memo((definition: Definition): string =>
  createHash('sha256')
    .update(JSON.stringify(sorted(definition)))
    .digest('hex'),
)

/** Keys in a fixed order, all the way down. */
export function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, sorted(inner)])
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

const contentOf = memo(({ fetched_at: _, ...content }: Catalogue): string =>
  createHash('sha256').update(JSON.stringify(content)).digest('hex'),
)

function differenceOf(before: readonly Definition[], after: readonly Definition[]) {
  const hashes = (tools: readonly Definition[]) =>
    new Map(tools.map((tool) => [String(tool.name), hashOf(tool)]))
  const [old, now] = [hashes(before), hashes(after)]
  return {
    added: [...now.keys()].filter((name) => !old.has(name)),
    removed: [...old.keys()].filter((name) => !now.has(name)),
    changed: [...now].filter(([name, hash]) => old.has(name) && old.get(name) !== hash).map(([name]) => name),
  }
}
