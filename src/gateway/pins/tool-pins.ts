import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { HeldChange, ToolDiff } from '../../kernel/tool-fields.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { Definition } from '../../protocol/lists.ts'
import type { Pinning } from '../../upstreams/catalogues.ts'
import { hashOf } from '../../upstreams/definition-hash.ts'
import { diffsOf, MAX_TOOLS } from './definition-diff.ts'
import type { ToolChangeLog } from './log-tool-changes.ts'
import { type Pin, type PinKey, PinnedDefinitions } from './pin-map.ts'

/** Keeps pins across restarts of Toolroom. */
export interface PinStore {
  all(): Promise<readonly Pin[]>
  /** Calls `pinOf` in the transaction, so that the newest pin is saved. Where it returns undefined, the pin is deleted. */
  save(
    keys: readonly PinKey[],
    pinOf: (key: PinKey) => Pin | undefined,
    change?: { readonly audit: AuditEntry; readonly committed: () => void },
  ): Promise<void>
}

interface Deps {
  readonly store: PinStore
  readonly facts: FactBus
  readonly changeLog: ToolChangeLog
  /** Whether a changed tool is hidden from agents until it is approved. */
  readonly hold: boolean
  /** Masks our secrets. A value in an old definition may have become a secret since. */
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

interface ChangedTool {
  readonly pin: Pin
  readonly definition: Definition
}

const SAVE_AFTER_MS = 250
const NO_CHANGES: ReadonlyMap<string, HeldChange> = new Map()

/**
 * The approved definition of each tool. The first definition of a tool is approved automatically; without `hold`, so is
 * every later one.
 */
export class ToolPins implements Pinning {
  readonly #deps: Deps
  readonly #pins: PinnedDefinitions
  readonly #unsaved = new Map<string, PinKey>()
  /** The last result of `heldIn`, by server. */
  readonly #held = new Map<string, { tools: readonly Definition[]; held: ReadonlyMap<string, HeldChange> }>()
  #timer: NodeJS.Timeout | undefined

  private constructor(deps: Deps, pins: PinnedDefinitions) {
    this.#deps = deps
    this.#pins = pins
  }

  static async open(deps: Deps): Promise<ToolPins> {
    return new ToolPins(deps, new PinnedDefinitions(await deps.store.all()))
  }

  get hold(): boolean {
    return this.#deps.hold
  }

  /**
   * Compares the tools of a server with their approved definitions. Call it before agents see these tools. Returns the
   * changed tools, each change only once.
   */
  check(server_id: string, tools: readonly Definition[]): { changed: string[]; diffs: ToolDiff[] } {
    const { hold, now, changeLog } = this.#deps
    this.#held.delete(server_id)
    const changed: ChangedTool[] = []
    for (const definition of tools) {
      const [tool, hash] = [String(definition.name), hashOf(definition)]
      const pin = this.#pins.get({ server_id, tool })
      if (pin && pin.hash !== hash && pin.seen_hash !== hash) changed.push({ pin, definition })
      if (pin?.hash === hash) {
        if (pin.seen_hash !== null) this.#put({ ...pin, seen_hash: null, seen_at: null })
      } else if (!pin || !hold) this.#put(pinOf(server_id, tool, definition, now()))
      else if (pin.seen_hash !== hash) this.#put({ ...pin, seen_hash: hash, seen_at: now() })
    }
    for (const key of this.#pins.removeExcess(server_id, tools)) this.#saveSoon(key)
    if (changed.length === 0) return { changed: [], diffs: [] }
    const names = changed.map(({ pin }) => pin.tool)
    const diffs = this.#diffsOf(changed)
    changeLog.add(server_id, names, diffs)
    return { changed: names, diffs }
  }

  /** Whether a tool waits for approval. Called for every tool of every list, so it must be fast. */
  isHeld(server_id: string, definition: Definition): boolean {
    return this.#heldPin(server_id, definition) !== undefined
  }

  /** Throws when the tool waits for approval. */
  refuseHeld(server_id: string, tool: string, tools: readonly Definition[]): void {
    if (!this.#deps.hold) return
    const definition = tools.find(({ name }) => name === tool)
    if (!definition || !this.isHeld(server_id, definition)) return
    const message = `The tool '${tool.slice(0, 100)}' on '${server_id}' has changed and is waiting for approval`
    throw new AppError('tool_held', message, { hint: 'Review the change in Toolroom and approve it there' })
  }

  /** The tools that wait for approval, by name. */
  heldIn(server_id: string, tools: readonly Definition[]): ReadonlyMap<string, HeldChange> {
    if (!this.#deps.hold) return NO_CHANGES
    const cached = this.#held.get(server_id)
    if (cached?.tools === tools) return cached.held
    const changed = tools.flatMap((definition): ChangedTool[] => {
      const pin = this.#heldPin(server_id, definition)
      return pin ? [{ pin, definition }] : []
    })
    const diffs = this.#diffsOf(changed)
    const held = new Map(
      changed.map(({ pin: { tool, seen_at } }): [string, HeldChange] => {
        const since = isoTime(seen_at ?? this.#deps.now())
        return [tool, { since, diffs: diffs.filter((diff) => diff.tool === tool) }]
      }),
    )
    this.#held.set(server_id, { tools, held })
    return held
  }

  /** `hash`: the definition that was reviewed. A tool that has changed since is not approved. */
  async approve(
    { server_id, tool }: PinKey,
    tools: readonly Definition[],
    hash: string | undefined,
    by: Caller,
  ): Promise<void> {
    const definition = tools.find(({ name }) => name === tool)
    if (!definition) throw new AppError('not_found', `'${server_id}' has no tool '${tool.slice(0, 100)}'`)
    const current = hashOf(definition)
    if (!this.isHeld(server_id, definition)) throw nothingToApprove(tool, 'is not waiting for approval')
    if (hash !== undefined && hash !== current) throw nothingToApprove(tool, 'has changed since this hash')
    const pin = pinOf(server_id, tool, definition, this.#deps.now())
    const audit = { action: 'tool_approved', subject: server_id, ...by, detail: { tool, hash: current } }
    const committed = () => {
      const { seen_hash = null, seen_at = null } = this.#pins.get(pin) ?? {}
      // The tool may have changed again during the transaction.
      this.#pins.put(seen_hash === current ? pin : { ...pin, seen_hash, seen_at })
      this.#held.delete(server_id)
    }
    await this.#deps.store.save([pin], () => pin, { audit, committed })
    const fact = { server_id, added: [], removed: [], changed: [tool], diffs: [], tool_count: tools.length }
    this.#deps.facts.publish('tools_changed', fact)
  }

  /** Call when a server was deleted. The store deletes its pins with it. */
  forget(server_id: string): void {
    this.#pins.forget(server_id)
    this.#held.delete(server_id)
    this.#deps.changeLog.forget(server_id)
  }

  async close(): Promise<void> {
    await this.#deps.changeLog.close()
    await this.#save()
  }

  async #save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const keys = [...this.#unsaved.values()]
    this.#unsaved.clear()
    if (keys.length === 0) return
    try {
      await this.#deps.store.save(keys, (key) => this.#pins.get(key))
    } catch (error) {
      for (const key of keys) this.#unsaved.set(textOf(key), key) // saved with the next change
      this.#deps.onError(error)
    }
  }

  #put(pin: Pin): void {
    this.#pins.put(pin)
    this.#saveSoon(pin)
  }

  #saveSoon({ server_id, tool }: PinKey): void {
    const key = { server_id, tool }
    this.#unsaved.set(textOf(key), key)
    this.#timer ??= setTimeout(() => void this.#save(), SAVE_AFTER_MS)
  }

  /** The pin of a tool that waits for approval. */
  #heldPin(server_id: string, definition: Definition): Pin | undefined {
    if (!this.#deps.hold) return undefined
    const pin = this.#pins.get({ server_id, tool: String(definition.name) })
    return pin && pin.hash !== hashOf(definition) ? pin : undefined
  }

  #diffsOf(changed: readonly ChangedTool[]): ToolDiff[] {
    const { redact } = this.#deps
    const shown = changed.slice(0, MAX_TOOLS).map(({ pin, definition }) => {
      return { tool: pin.tool, before: approvedDefinition(pin, redact), after: definition }
    })
    return diffsOf(shown)
  }
}

/** Empty when the stored definition is damaged and no longer has its hash. */
function approvedDefinition({ definition, hash }: Pin, redact: Deps['redact']): Definition {
  try {
    const stored: Definition = JSON.parse(definition)
    return hashOf(stored) === hash ? JSON.parse(redact(definition)) : {}
  } catch {
    return {}
  }
}

const textOf = ({ server_id, tool }: PinKey): string => `${server_id}\0${tool}`

const pinOf = (server_id: string, tool: string, definition: Definition, now: number): Pin => ({
  server_id,
  tool,
  hash: hashOf(definition),
  definition: JSON.stringify(definition),
  approved_at: now,
  seen_hash: null,
  seen_at: null,
})

const nothingToApprove = (tool: string, why: string): AppError =>
  new AppError('nothing_to_approve', `The tool '${tool.slice(0, 100)}' ${why}`, {
    hint: "Get the server's tool list: `state` shows which tools are held, `hash` their current definitions",
  })
