import { createHash } from 'node:crypto'
import type { FactBus } from '../../kernel/fact-bus.ts'
import { memo } from '../../kernel/memo.ts'
import type { HeldChange, ToolDiff } from '../../kernel/tool-fields.ts'
import type { ClientDependency } from '../../mcp/protocol/call-options.ts'
import {
  type Definition,
  definitionText,
  keepText,
  type OtherLists,
  writtenText,
} from '../../mcp/protocol/listed-definitions.ts'
import { differenceOf } from './compare-listed-definitions.ts'

/** The description and the lists of a server, as of its last run. */
export interface Catalogue extends OtherLists {
  readonly protocol_version: string
  readonly server_info: Definition
  readonly capabilities: Definition
  readonly instructions: string | null
  /** The transport of an HTTP server. */
  readonly transport?: 'streamable_http' | 'sse'
  /** As the server sent them, unknown fields included, secrets masked. */
  readonly tools: readonly Definition[]
  readonly truncated: boolean
  /** Tools that were skipped because an earlier one has the same name. */
  readonly duplicates: number
  /** How the server has shown that it depends on its client. Kept, so that it is known at the next start. */
  readonly depends_on?: ClientDependency | undefined
  /**
   * What a server with a legacy handshake announces to modern clients. Null: nothing, because it supports only the legacy
   * era. Undefined: it was not asked yet.
   */
  readonly modern_capabilities?: Definition | null | undefined
  /** The `_meta` of the tool list. */
  readonly meta?: Definition
  readonly fetched_at: number
}

/** The handshake and the tool list. The other lists arrive later, one by one. */
export type DiscoveredServer = Omit<
  Catalogue,
  'depends_on' | 'modern_capabilities' | 'fetched_at' | keyof OtherLists
>

const NO_OTHER_LISTS: OtherLists = { prompts: [], resources: [], resource_templates: [] }
/** The capability that declares a list; the change notification has the same name. */
const KIND_OF = { prompts: 'prompts', resources: 'resources', resource_templates: 'resources' } as const

/** The catalogue with the texts of definitions that JSON.stringify would write differently, by list and index. */
export interface StoredCatalogue extends Catalogue {
  readonly as_written?: Readonly<Record<string, Readonly<Record<number, string>>>>
}

/** Keeps catalogues across restarts of Toolroom. */
export interface CatalogueStore {
  all(): Promise<ReadonlyMap<string, StoredCatalogue>>
  /** Skips servers that have been deleted. */
  save(catalogues: ReadonlyMap<string, StoredCatalogue>): Promise<void>
}

/** What a server says about itself to agents, and what is compared with an approved definition. */
export type PinKind = 'tool' | 'prompt' | 'instructions'

/** The approved definitions. */
export interface Pinning {
  /** Records a list. Returns what differs from its approved definition, with the differences. */
  check(
    server_id: string,
    kind: PinKind,
    items: readonly Definition[],
  ): { changed: string[]; diffs: ToolDiff[] }
  /** Definitions that wait for approval, by name. */
  heldIn(server_id: string, kind: PinKind, items: readonly Definition[]): ReadonlyMap<string, HeldChange>
  forget(server_id: string): void
}

interface Deps {
  readonly store: CatalogueStore
  readonly pins: Pinning
  readonly facts: FactBus
  /** Masks our secrets in text of a server. */
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly onError: (server_id: string | null, error: unknown) => void
}

/** The catalogues of servers that start together are saved in one transaction. */
const SAVE_AFTER_MS = 250
const MAX_CHARACTERS = 8 * 1024 * 1024
const MAX_META_CHARACTERS = 64 * 1024

/** The catalogues of all servers that ever ran, in memory and in the store. */
export class Catalogues {
  readonly #deps: Deps
  readonly #byServer: Map<string, Catalogue>
  readonly #unsaved = new Set<string>()
  /** Dependencies of servers whose tools are not known yet. */
  readonly #dependencies = new Map<string, ClientDependency>()
  #timer: NodeJS.Timeout | undefined

  private constructor(deps: Deps, known: ReadonlyMap<string, Catalogue>) {
    this.#deps = deps
    this.#byServer = new Map(known)
  }

  static async open(deps: Deps): Promise<Catalogues> {
    const known = [...(await deps.store.all())]
    const complete = known.map(([id, each]): [string, Catalogue] => [id, fromStored(each)])
    for (const [id, each] of complete) {
      deps.pins.check(id, 'tool', each.tools)
      checkOthers(deps.pins, id, each)
    }
    return new Catalogues(deps, new Map(complete))
  }

  of(id: string): Catalogue | undefined {
    return this.#byServer.get(id)
  }

  forget(id: string): void {
    this.#byServer.delete(id)
    this.#unsaved.delete(id)
    this.#dependencies.delete(id)
    this.#deps.pins.forget(id)
  }

  /** Tools that are hidden from agents until their change is approved. */
  held(id: string): ReadonlyMap<string, HeldChange> {
    return this.#deps.pins.heldIn(id, 'tool', this.#byServer.get(id)?.tools ?? [])
  }

  /** Stores the handshake and the tool list of a server. */
  update(id: string, server: DiscoveredServer): void {
    const before = this.#byServer.get(id)
    const bounded = this.cleaned(id, server)
    const others = before ? othersAfter(before, bounded) : NO_OTHER_LISTS
    const depends_on = this.dependencyOf(id)
    const modern_capabilities =
      before && isSameProgram(before, bounded) ? before.modern_capabilities : undefined
    const catalogue = {
      ...bounded,
      ...others,
      depends_on,
      modern_capabilities,
      fetched_at: this.#deps.now(),
    }
    // Before anything is published, so that no agent sees a tool that was not compared with its approved definition.
    const pinned = this.#deps.pins.check(id, 'tool', catalogue.tools)
    checkOthers(this.#deps.pins, id, catalogue)
    if (!this.#keep(id, before, catalogue) && pinned.changed.length === 0) return
    const difference = differenceOf(before?.tools ?? [], catalogue.tools)
    const changed = [...new Set([...difference.changed, ...pinned.changed])]
    const hasChanged = changed.length + difference.added.length + difference.removed.length > 0
    if (before && !hasChanged && !isRewritten(before.tools, catalogue.tools)) return
    const { length: tool_count } = catalogue.tools
    const fact = { server_id: id, ...difference, changed, diffs: pinned.diffs, tool_count }
    this.#deps.facts.publish('tools_changed', fact)
  }

  dependencyOf(id: string): ClientDependency | undefined {
    return this.#byServer.get(id)?.depends_on ?? this.#dependencies.get(id)
  }

  /** Remembers the first dependency of a server on its client. True when it was not known. */
  learn(id: string, depends_on: ClientDependency): boolean {
    if (this.dependencyOf(id) !== undefined) return false
    const before = this.#byServer.get(id)
    if (before) this.#keep(id, before, { ...before, depends_on })
    else this.#dependencies.set(id, depends_on)
    return true
  }

  /** Stores what a server with a legacy handshake announces to modern clients. Ignored while the tools are not known. */
  learnModern(id: string, capabilities: Definition | null): void {
    const before = this.#byServer.get(id)
    const modern_capabilities = this.#clean(id, capabilities, null)
    if (before) this.#keep(id, before, { ...before, modern_capabilities })
  }

  /** Stores one of the other lists. Ignored while the tools are not known. */
  updateList(id: string, kind: keyof OtherLists, items: readonly Definition[]): void {
    const before = this.#byServer.get(id)
    if (!before) return
    const { server_info, capabilities, instructions } = before
    const about = JSON.stringify({ server_info, capabilities, instructions }).length
    const taken = LISTS.filter((each) => each !== kind).reduce(
      (sum, each) => sum + charactersIn(before[each]),
      about,
    )
    const kept = this.#fitting(id, items, MAX_CHARACTERS - taken)
    if (kind === 'prompts') this.#deps.pins.check(id, 'prompt', kept)
    this.#keep(id, before, { ...before, [kind]: kept, fetched_at: this.#deps.now() })
  }

  /** False when nothing has changed. */
  #keep(id: string, before: Catalogue | undefined, catalogue: Catalogue): boolean {
    this.#byServer.set(id, catalogue)
    if (before && contentOf(before) === contentOf(catalogue)) return false
    this.#unsaved.add(id)
    this.#timer ??= setTimeout(() => void this.save(), SAVE_AFTER_MS)
    const kinds = changedKinds(before ?? NO_OTHER_LISTS, catalogue)
    if (kinds.length > 0) this.#deps.facts.publish('lists_changed', { server_id: id, kinds })
    return true
  }

  /** Saves unsaved catalogues. Called a moment after each change, and before the service ends. */
  async save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const changed = new Map<string, StoredCatalogue>()
    for (const id of this.#unsaved) {
      const catalogue = this.#byServer.get(id)
      if (catalogue) changed.set(id, toStored(catalogue))
    }
    this.#unsaved.clear()
    if (changed.size === 0) return
    await this.#deps.store.save(changed).catch((error: unknown) => this.#deps.onError(null, error))
  }

  /** Masks secrets. Drops values that exceed the size limit, or that are no longer JSON after masking. */
  cleaned(id: string, server: DiscoveredServer): DiscoveredServer {
    const tools = this.#fitting(id, server.tools, MAX_CHARACTERS)
    const { server_info, capabilities, instructions } = this.#clean(
      id,
      {
        server_info: server.server_info,
        capabilities: server.capabilities,
        instructions: server.instructions,
      },
      { server_info: {}, capabilities: {}, instructions: null },
    )
    const truncated = server.truncated || tools.length < server.tools.length
    const { meta: given, ...described } = server
    const [meta] = given ? this.#fitting(id, [given], MAX_META_CHARACTERS) : []
    return { ...described, server_info, capabilities, instructions, tools, truncated, ...(meta && { meta }) }
  }

  #fitting(id: string, definitions: readonly Definition[], characters: number): readonly Definition[] {
    let room = characters
    const kept: Definition[] = []
    for (const definition of definitions) {
      const cleaned = this.#cleanDefinition(id, definition)
      room -= cleaned ? definitionText(cleaned).length : 0
      if (room < 0) break
      if (cleaned) kept.push(cleaned)
    }
    return kept
  }

  /** A secret may be in its text only, for example as a number of 20 digits. Then the text is not kept. */
  #cleanDefinition(id: string, definition: Definition): Definition | undefined {
    const cleaned = this.#clean<Definition | undefined>(id, definition, undefined)
    const text = cleaned && writtenText(cleaned)
    return text === undefined || this.#deps.redact(text) === text ? cleaned : { ...cleaned }
  }

  #clean<T>(id: string, value: T, fallback: T): T {
    try {
      const text = JSON.stringify(value)
      const redacted = this.#deps.redact(text)
      return redacted === text ? value : JSON.parse(redacted)
    } catch (error) {
      this.#deps.onError(id, error) // it is no longer JSON after masking
      return fallback
    }
  }
}

/** Whether a server describes itself as before. A new version of it may support another era. */
const isSameProgram = (before: DiscoveredServer, after: DiscoveredServer): boolean =>
  JSON.stringify([before.protocol_version, before.server_info, before.capabilities]) ===
  JSON.stringify([after.protocol_version, after.server_info, after.capabilities])

/** The instructions of a server, as a list of at most one definition. */
export const instructionsIn = memo(({ instructions }: Catalogue): readonly Definition[] =>
  instructions === null ? [] : [{ name: INSTRUCTIONS, instructions }],
)
export const INSTRUCTIONS = 'instructions'

/** The list of prompts arrives later than the handshake. It counts as empty when the server declares none. */
function checkOthers(pins: Pinning, id: string, catalogue: Catalogue): void {
  pins.check(id, 'instructions', instructionsIn(catalogue))
  const { prompts, capabilities } = catalogue
  if (prompts.length > 0 || !capabilities.prompts) pins.check(id, 'prompt', prompts)
}

/** The lists stay as they were until they are fetched again, unless they are no longer declared or too large. */
function othersAfter(before: OtherLists, { capabilities, tools }: DiscoveredServer): OtherLists {
  const others = {
    prompts: capabilities.prompts ? before.prompts : [],
    resources: capabilities.resources ? before.resources : [],
    resource_templates: capabilities.resources ? before.resource_templates : [],
  }
  const characters = Object.values(others).reduce(
    (sum, each) => sum + charactersIn(each),
    charactersIn(tools),
  )
  return characters <= MAX_CHARACTERS ? others : NO_OTHER_LISTS
}

const charactersIn = (definitions: readonly Definition[]): number =>
  definitions.reduce((sum, each) => sum + definitionText(each).length, 0)

function changedKinds(before: OtherLists, after: OtherLists): ('prompts' | 'resources')[] {
  const names = Object.keys(KIND_OF) as (keyof OtherLists)[]
  const changed = names.filter((name) => textOf(before[name]) !== textOf(after[name]))
  return [...new Set(changed.map((name) => KIND_OF[name]))]
}

const textOf = (definitions: readonly Definition[]): string => definitions.map(definitionText).join()

/** Whether a tool is written differently, although its definition is the same. Agents then get the new text. */
function isRewritten(before: readonly Definition[], after: readonly Definition[]): boolean {
  const texts = new Map(before.map((tool) => [tool.name, writtenText(tool)]))
  return after.some((tool) => texts.get(tool.name) !== writtenText(tool))
}

const contentOf = memo((catalogue: Catalogue): string => {
  const { fetched_at: _, ...content } = toStored(catalogue)
  return createHash('sha256').update(JSON.stringify(content)).digest('hex')
})

function toStored(catalogue: Catalogue): StoredCatalogue {
  const lists = LISTS.map((list): [string, Record<number, string>] => {
    const texts = catalogue[list].map((each, index): [number, string | undefined] => [
      index,
      writtenText(each),
    ])
    return [list, Object.fromEntries(texts.filter((each): each is [number, string] => each[1] !== undefined))]
  })
  const written = lists.filter(([, texts]) => Object.keys(texts).length > 0)
  return written.length === 0 ? catalogue : { ...catalogue, as_written: Object.fromEntries(written) }
}

function fromStored({ as_written = {}, ...stored }: StoredCatalogue): Catalogue {
  const catalogue = { ...NO_OTHER_LISTS, ...stored } // catalogues of older versions have no other lists
  for (const list of LISTS)
    for (const [index, text] of Object.entries(as_written[list] ?? {})) {
      const definition = catalogue[list][Number(index)]
      if (definition) keepText(definition, text)
    }
  return catalogue
}

const LISTS = ['tools', 'prompts', 'resources', 'resource_templates'] as const
