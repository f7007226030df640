import { createHash } from 'node:crypto'
import type { FactBus } from './facts.ts'
import { memo } from './memo.ts'
import { isoTime } from './time.ts'
import type { Tool, ToolList } from './tool-fields.ts'

type Definition = Readonly<Record<string, unknown>>

/** What a server said of itself and of its tools when it was last asked. */
export interface Catalogue {
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

/** What is kept of it between two starts of Toolroom. */
export interface CatalogueStore {
  all(): Promise<ReadonlyMap<string, Catalogue>>
  /** Leaves out servers that are gone. */
  save(catalogues: ReadonlyMap<string, Catalogue>): Promise<void>
}

interface Deps {
  readonly store: CatalogueStore
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
    return new Catalogues(deps, await deps.store.all())
  }

  of(id: string): Catalogue | undefined {
    return this.#byServer.get(id)
  }

  forget(id: string): void {
    this.#byServer.delete(id)
    this.#unsaved.delete(id)
  }

  learned(id: string, heard: Omit<Catalogue, 'fetched_at'>): void {
    const before = this.#byServer.get(id)
    const catalogue = { ...this.#bounded(id, heard), fetched_at: this.#deps.now() }
    this.#byServer.set(id, catalogue)
    if (before && contentOf(before) === contentOf(catalogue)) return
    this.#unsaved.add(id)
    this.#timer ??= setTimeout(() => void this.save(), SAVE_AFTER_MS)
    const difference = differenceOf(before?.tools ?? [], catalogue.tools)
    if (!before || Object.values(difference).some((names) => names.length > 0))
      this.#deps.facts.publish('tools_changed', {
        server_id: id,
        ...difference,
        tool_count: catalogue.tools.length,
      })
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
  #bounded(id: string, heard: Omit<Catalogue, 'fetched_at'>): Omit<Catalogue, 'fetched_at'> {
    const clean = <T>(value: T, otherwise: T): T => {
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
    let room = MAX_CHARACTERS
    const tools: Definition[] = []
    for (const tool of heard.tools) {
      const cleaned = clean<Definition | undefined>(tool, undefined)
      room -= cleaned ? JSON.stringify(cleaned).length : 0
      if (room < 0) break
      if (cleaned) tools.push(cleaned)
    }
    const { server_info, capabilities, instructions } = clean(
      { server_info: heard.server_info, capabilities: heard.capabilities, instructions: heard.instructions },
      { server_info: {}, capabilities: {}, instructions: null },
    )
    const truncated = heard.truncated || tools.length < heard.tools.length
    return { ...heard, server_info, capabilities, instructions, tools, truncated }
  }
}

/** The tools as anybody may see them. */
const toolsOf = memo((catalogue: Catalogue): readonly Tool[] => catalogue.tools.map(toolOf))

export const tokensOf = memo((catalogue: Catalogue): number =>
  toolsOf(catalogue).reduce((sum, { tokens }) => sum + tokens, 0),
)

export function toolListOf(catalogue: Catalogue, source: ToolList['source']): ToolList {
  const items = [...toolsOf(catalogue)]
  const { truncated, duplicates } = catalogue
  const fetched_at = isoTime(catalogue.fetched_at)
  return { items, total: items.length, next_cursor: null, source, fetched_at, truncated, duplicates }
}

function toolOf(definition: Definition): Tool {
  const { name, title, description, inputSchema, outputSchema, annotations } = definition
  const spoken = JSON.stringify([name, description ?? '', inputSchema ?? {}])
  return {
    name: String(name),
    title: textOr(title),
    description: textOr(description),
    input_schema: objectOr(inputSchema) ?? {},
    output_schema: objectOr(outputSchema),
    annotations: objectOr(annotations),
    tokens: Math.ceil(spoken.length / 4),
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

function sorted(value: unknown): unknown {
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
