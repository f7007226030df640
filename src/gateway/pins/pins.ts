import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus } from '../../kernel/fact-bus.ts'
import type { Caller } from '../../kernel/rest-parts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { HeldChange, ToolDiff } from '../../kernel/tool-fields.ts'
import type { Definition } from '../../mcp/protocol/listed-definitions.ts'
import {
  type Catalogues,
  instructionsIn,
  type PinKind,
  type Pinning,
} from '../../servers/shared/catalogues.ts'
import { hashOf } from '../../servers/shared/compare-listed-definitions.ts'
import type { ChangeLog } from './definition-change-log.ts'
import { diffsOf, MAX_TOOLS } from './definition-diff.ts'
import { type Pin, type PinKey, PinnedDefinitions } from './pinned-definitions.ts'

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
  readonly changeLog: ChangeLog
  /** Whether a new or changed definition is hidden from agents until it is approved. */
  readonly hold: boolean
  /** Masks our secrets. A value in an old definition may have become a secret since. */
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly onError: (error: unknown) => void
}

/** What is approved or refused: one definition of one list of a server. */
interface Pinned {
  readonly server_id: string
  readonly kind: PinKind
  readonly name: string
}

/** A definition that differs from its pin. Without a pin, it is new. */
interface Difference {
  readonly pin: Pin | undefined
  readonly definition: Definition
}

const SAVE_AFTER_MS = 250
const NO_CHANGES: ReadonlyMap<string, HeldChange> = new Map()

/**
 * The approved definitions of tools and prompts, and the approved instructions. Everything in the first listing of a server
 * is approved automatically; without `hold`, so is everything later.
 */
export class Pins implements Pinning {
  readonly #deps: Deps
  readonly #pins: PinnedDefinitions
  readonly #unsaved = new Map<string, PinKey>()
  /** The results of `heldIn`, by their items. */
  #held = new WeakMap<readonly Definition[], ReadonlyMap<string, HeldChange>>()
  #timer: NodeJS.Timeout | undefined

  private constructor(deps: Deps, pins: PinnedDefinitions) {
    this.#deps = deps
    this.#pins = pins
  }

  static async open(deps: Deps): Promise<Pins> {
    return new Pins(deps, new PinnedDefinitions(await deps.store.all()))
  }

  get hold(): boolean {
    return this.#deps.hold
  }

  /**
   * Compares a list of a server with the approved definitions. Call it before agents see the list. Returns the changed
   * definitions, each change only once.
   */
  check(
    server_id: string,
    kind: PinKind,
    items: readonly Definition[],
  ): { changed: string[]; diffs: ToolDiff[] } {
    const { hold, changeLog } = this.#deps
    this.#held.delete(items)
    const isFirst = this.#isFirstListing(server_id, kind)
    const changed: Difference[] = []
    const added: Difference[] = []
    for (const definition of items) {
      const key = keyOf(server_id, kind, definition)
      const pin = this.#pins.get(key)
      const hash = hashOf(definition)
      const isSeen = pin?.hash === hash || pin?.seen_hash === hash
      if (pin && !isSeen) changed.push({ pin, definition })
      else if (!pin && hold && !isFirst) added.push({ pin, definition })
      this.#record(key, pin, definition, !hold || (isFirst && !pin))
    }
    this.#removeUnapproved(server_id, kind, items)
    const report = (what: 'changed' | 'held', differences: readonly Difference[]) => {
      if (differences.length === 0) return { changed: [], diffs: [] }
      const names = differences.map(({ definition }) => String(definition.name))
      const diffs = this.#diffsOf(differences)
      changeLog.add({ server_id, kind, what, names, diffs })
      return { changed: names, diffs }
    }
    report('held', added)
    return report('changed', changed)
  }

  /** Whether a definition waits for approval. Called for every entry of every list, so it must be fast. */
  isHeld(server_id: string, kind: PinKind, definition: Definition): boolean {
    return this.#deps.hold && this.#pins.get(keyOf(server_id, kind, definition))?.hash !== hashOf(definition)
  }

  /** Throws when the definition waits for approval. */
  refuseHeld({ server_id, kind, name }: Pinned, items: readonly Definition[]): void {
    if (!this.#deps.hold) return
    const definition = items.find((each) => each.name === name)
    if (!definition || !this.isHeld(server_id, kind, definition)) return
    const isNew = !this.#pins.get({ server_id, kind, name })?.hash
    const message = `The ${kind} '${name.slice(0, 100)}' on '${server_id}' ${isNew ? 'is new' : 'has changed'} and is waiting for approval`
    throw new AppError(kind === 'prompt' ? 'prompt_held' : 'tool_held', message, {
      hint: `Review the ${kind} in Toolroom and approve it there`,
    })
  }

  /** The definitions that wait for approval, by name. */
  heldIn(server_id: string, kind: PinKind, items: readonly Definition[]): ReadonlyMap<string, HeldChange> {
    if (!this.#deps.hold) return NO_CHANGES
    const cached = this.#held.get(items)
    if (cached) return cached
    const differences = items
      .filter((definition) => this.isHeld(server_id, kind, definition))
      .map((definition) => ({ pin: this.#pins.get(keyOf(server_id, kind, definition)), definition }))
    const diffs = this.#diffsOf(differences)
    const held = new Map(
      differences.map(({ pin, definition }): [string, HeldChange] => {
        const name = String(definition.name)
        const since = isoTime(pin?.seen_at ?? this.#deps.now())
        return [name, { since, diffs: diffs.filter(({ tool }) => tool === name) }]
      }),
    )
    this.#held.set(items, held)
    return held
  }

  /** `hash`: the definition that was reviewed. One that has changed since is not approved. */
  async approve(
    { server_id, kind, name }: Pinned,
    items: readonly Definition[],
    hash: string | undefined,
    by: Caller,
  ): Promise<void> {
    const what =
      kind === 'instructions' ? 'The text of the instructions' : `The ${kind} '${name.slice(0, 100)}'`
    const definition = items.find((each) => each.name === name)
    if (!definition) throw new AppError('not_found', `${what} of '${server_id}' does not exist`)
    const current = hashOf(definition)
    if (!this.isHeld(server_id, kind, definition)) throw nothingToApprove(what, 'is not waiting for approval')
    if (hash !== undefined && hash !== current) throw nothingToApprove(what, 'has changed since this hash')
    const pin = pinOf({ server_id, kind, name }, definition, this.#deps.now())
    const detail = { ...(kind !== 'instructions' && { [kind]: name }), hash: current }
    const audit = { action: `${kind}_approved`, subject: server_id, ...by, detail }
    const committed = () => {
      const { seen_hash = null, seen_at = null } = this.#pins.get(pin) ?? {}
      // It may have changed again during the transaction.
      this.#pins.put(seen_hash === current ? pin : { ...pin, seen_hash, seen_at })
      this.#held = new WeakMap()
    }
    await this.#deps.store.save([pin], () => pin, { audit, committed })
    this.#publish(kind, name, server_id, items.length)
  }

  /** Call when a server was deleted. The store deletes its pins with it. */
  forget(server_id: string): void {
    this.#pins.forget(server_id)
    this.#deps.changeLog.forget(server_id)
  }

  async close(): Promise<void> {
    await this.#deps.changeLog.close()
    await this.#save()
  }

  /** Agents may see more than before. They read instructions only when they connect. */
  #publish(kind: PinKind, name: string, server_id: string, tool_count: number): void {
    const { facts } = this.#deps
    if (kind === 'prompt') facts.publish('lists_changed', { server_id, kinds: ['prompts'] })
    if (kind !== 'tool') return
    facts.publish('tools_changed', {
      server_id,
      added: [],
      removed: [],
      changed: [name],
      diffs: [],
      tool_count,
    })
  }

  /** True once for each list of a server, also when the list is empty. */
  #isFirstListing(server_id: string, kind: PinKind): boolean {
    const key = { server_id, kind: 'list', name: kind } as const
    if (this.#pins.get(key)) return false
    this.#put({ ...unapproved(key), approved_at: this.#deps.now() })
    return true
  }

  /** Approves a definition if it `mayBeApproved` and there is room. Otherwise it is only recorded as seen. */
  #record(key: PinKey, pin: Pin | undefined, definition: Definition, mayBeApproved: boolean): void {
    const hash = hashOf(definition)
    if (pin?.hash === hash) {
      if (pin.seen_hash !== null) this.#put({ ...pin, seen_hash: null, seen_at: null })
      return
    }
    const next = mayBeApproved && pinOf(key, definition, this.#deps.now())
    if (next && this.#pins.hasRoom(next)) this.#put(next)
    else if (pin?.seen_hash !== hash)
      this.#put({ ...(pin ?? unapproved(key)), seen_hash: hash, seen_at: this.#deps.now() })
  }

  /** A definition that was never approved is forgotten with its entry. A server cannot fill the store with such names. */
  #removeUnapproved(server_id: string, kind: PinKind, items: readonly Definition[]): void {
    const names = new Set(items.map(({ name }) => String(name)))
    for (const pin of [...this.#pins.of(server_id, kind)]) {
      if (pin.hash !== '' || names.has(pin.name)) continue
      this.#pins.remove(pin)
      this.#saveSoon(pin)
    }
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

  #saveSoon({ server_id, kind, name }: PinKey): void {
    const key = { server_id, kind, name }
    this.#unsaved.set(textOf(key), key)
    this.#timer ??= setTimeout(() => void this.#save(), SAVE_AFTER_MS)
  }

  #diffsOf(differences: readonly Difference[]): ToolDiff[] {
    const { redact } = this.#deps
    const shown = differences.slice(0, MAX_TOOLS).map(({ pin, definition }) => {
      const before = pin ? approvedDefinition(pin, redact) : {}
      return { tool: String(definition.name), before, after: definition }
    })
    return diffsOf(shown)
  }
}

/** Empty when nothing was approved, or when the stored definition is damaged and no longer has its hash. */
function approvedDefinition({ definition, hash }: Pin, redact: Deps['redact']): Definition {
  try {
    const stored: Definition = JSON.parse(definition)
    return hashOf(stored) === hash ? JSON.parse(redact(definition)) : {}
  } catch {
    return {}
  }
}

const keyOf = (server_id: string, kind: PinKind, { name }: Definition): PinKey => ({
  server_id,
  kind,
  name: String(name),
})
const textOf = ({ server_id, kind, name }: PinKey): string => `${server_id}\0${kind}\0${name}`

const unapproved = (key: PinKey): Pin => ({
  ...key,
  hash: '',
  definition: '',
  approved_at: 0,
  seen_hash: null,
  seen_at: null,
})

const pinOf = (key: PinKey, definition: Definition, now: number): Pin => ({
  ...key,
  hash: hashOf(definition),
  definition: JSON.stringify(definition),
  approved_at: now,
  seen_hash: null,
  seen_at: null,
})

const nothingToApprove = (what: string, why: string): AppError =>
  new AppError('nothing_to_approve', `${what} ${why}`, {
    hint: 'Read the list again: `state` shows what is held, `hash` the current definition',
  })

/** What agents may not use before it is approved. */
export interface Approval {
  /** Throws when the tool waits for approval. */
  readonly admitTool: (serverId: string, tool: string) => void
  /** Throws when the prompt waits for approval. */
  readonly admitPrompt: (serverId: string, prompt: string) => void
  readonly isHeldPrompt: (serverId: string, definition: Definition) => boolean
  readonly holdsInstructions: (serverId: string) => boolean
}

/** Undefined when nothing is ever held. */
export function approvalOf(pins: Pins, catalogues: Pick<Catalogues, 'of'>): Approval | undefined {
  if (!pins.hold) return undefined
  return {
    admitTool: (server_id, name) =>
      pins.refuseHeld({ server_id, kind: 'tool', name }, catalogues.of(server_id)?.tools ?? []),
    admitPrompt: (server_id, name) =>
      pins.refuseHeld({ server_id, kind: 'prompt', name }, catalogues.of(server_id)?.prompts ?? []),
    isHeldPrompt: (serverId, definition) => pins.isHeld(serverId, 'prompt', definition),
    holdsInstructions(serverId) {
      const catalogue = catalogues.of(serverId)
      const definitions = catalogue ? instructionsIn(catalogue) : []
      return definitions.some((definition) => pins.isHeld(serverId, 'instructions', definition))
    },
  }
}
