import { AppError } from '../../kernel/errors.ts'
import type { AuditEntry, FactBus } from '../../kernel/facts.ts'
import { isoTime } from '../../kernel/time.ts'
import type { HeldChange, ToolDiff } from '../../kernel/tool-fields.ts'
import type { Caller } from '../../kernel/wire.ts'
import type { Definition } from '../../protocol/lists.ts'
import type { Pinning } from '../../upstreams/catalogues.ts'
import { hashOf } from '../../upstreams/definition-hash.ts'
import type { ChangeNotes } from './change-records.ts'
import { diffsOf, MOST_TOOLS } from './definition-diff.ts'
import { type Pin, PinBook, type PinKey } from './pin-records.ts'

/** What the pins need of the store. */
export interface PinStore {
  all(): Promise<readonly Pin[]>
  /** `pinOf` is asked when it is this change's turn, so that the last word is written last. Undefined: no longer pinned. */
  save(
    keys: readonly PinKey[],
    pinOf: (key: PinKey) => Pin | undefined,
    change?: { readonly audit: AuditEntry; readonly committed: () => void },
  ): Promise<void>
}

interface Deps {
  readonly store: PinStore
  readonly facts: FactBus
  readonly notes: ChangeNotes
  /** A changed tool is withheld from agents until somebody approves it. */
  readonly hold: boolean
  /** Hides our secrets: what is one now may stand in a definition of long ago. */
  readonly redact: (text: string) => string
  readonly now: () => number
  readonly onTrouble: (error: unknown) => void
}

const SAVE_AFTER_MS = 250

/** Which definition of each tool was approved: the first that was seen, until somebody, or the setting, moves on. */
export class Pins implements Pinning {
  readonly #deps: Deps
  readonly #book: PinBook
  readonly #unsaved = new Map<string, PinKey>()
  /** What is held of each server, as it was last asked for. */
  readonly #shown = new Map<string, { tools: readonly Definition[]; held: ReadonlyMap<string, HeldChange> }>()
  #timer: NodeJS.Timeout | undefined

  private constructor(deps: Deps, book: PinBook) {
    this.#deps = deps
    this.#book = book
  }

  static async open(deps: Deps): Promise<Pins> {
    return new Pins(deps, new PinBook(await deps.store.all()))
  }

  get hold(): boolean {
    return this.#deps.hold
  }

  /** Call it before anybody sees these tools. Gives those that are no longer as approved, unless that was said already. */
  look(server_id: string, tools: readonly Definition[]): { changed: string[]; diffs: ToolDiff[] } {
    const { hold, now, notes } = this.#deps
    this.#shown.delete(server_id)
    const changed: Changed[] = []
    for (const definition of tools) {
      const [tool, hash] = [String(definition.name), hashOf(definition)]
      const pin = this.#book.get({ server_id, tool })
      if (pin && pin.hash !== hash && pin.seen_hash !== hash) changed.push({ pin, definition })
      if (pin?.hash === hash) {
        if (pin.seen_hash !== null) this.#put({ ...pin, seen_hash: null, seen_at: null })
      } else if (!pin || !hold) this.#put(pinOf(server_id, tool, definition, now()))
      else if (pin.seen_hash !== hash) this.#put({ ...pin, seen_hash: hash, seen_at: now() })
    }
    for (const key of this.#book.shed(server_id, tools)) this.#save(key)
    if (changed.length === 0) return { changed: [], diffs: [] }
    const names = changed.map(({ pin }) => pin.tool)
    const diffs = this.#diffsOf(changed)
    notes.changed(server_id, names, diffs)
    return { changed: names, diffs }
  }

  /** Fast: asked for every tool of every list. */
  isHeld(server_id: string, definition: Definition): boolean {
    if (!this.#deps.hold) return false
    const pin = this.#book.get({ server_id, tool: String(definition.name) })
    return pin !== undefined && pin.hash !== hashOf(definition)
  }

  /** For who calls a tool on behalf of an agent. */
  refuseHeld(server_id: string, tool: string, tools: readonly Definition[]): void {
    if (!this.#deps.hold) return
    const definition = tools.find(({ name }) => name === tool)
    if (!definition || !this.isHeld(server_id, definition)) return
    throw new AppError(
      'tool_held',
      `'${tool.slice(0, 100)}' of '${server_id}' has changed and waits for approval`,
      {
        hint: 'A person can read what changed, and approve it, in Toolroom',
      },
    )
  }

  heldIn(server_id: string, tools: readonly Definition[]): ReadonlyMap<string, HeldChange> {
    if (!this.#deps.hold) return NONE
    const shown = this.#shown.get(server_id)
    if (shown?.tools === tools) return shown.held
    const changed = tools.flatMap((definition): Changed[] => {
      const pin = this.#book.get({ server_id, tool: String(definition.name) })
      return pin && pin.hash !== hashOf(definition) ? [{ pin, definition }] : []
    })
    const diffs = this.#diffsOf(changed)
    const held = new Map(
      changed.map(({ pin: { tool, seen_at } }): [string, HeldChange] => {
        const since = isoTime(seen_at ?? this.#deps.now())
        return [tool, { since, diffs: diffs.filter((diff) => diff.tool === tool) }]
      }),
    )
    this.#shown.set(server_id, { tools, held })
    return held
  }

  /** `hash` is what the person has read: what came after it is not approved. */
  async approve(
    { server_id, tool }: PinKey,
    tools: readonly Definition[],
    hash: string | undefined,
    by: Caller,
  ): Promise<void> {
    const definition = tools.find(({ name }) => name === tool)
    if (!definition) throw new AppError('not_found', `'${server_id}' has no tool '${tool.slice(0, 100)}'`)
    const current = hashOf(definition)
    if (!this.isHeld(server_id, definition)) throw nothingToApprove(`'${tool}' does not wait for approval`)
    if (hash !== undefined && hash !== current) throw nothingToApprove(`'${tool}' has changed once more`)
    const pin = pinOf(server_id, tool, definition, this.#deps.now())
    const audit = { action: 'tool_approved', subject: server_id, ...by, detail: { tool, hash: current } }
    const committed = () => {
      const { seen_hash = null, seen_at = null } = this.#book.get(pin) ?? {}
      const isOver = seen_hash === current
      this.#book.put({ ...pin, seen_hash: isOver ? null : seen_hash, seen_at: isOver ? null : seen_at })
      this.#shown.delete(server_id)
    }
    await this.#deps.store.save([pin], () => pin, { audit, committed })
    const nothing = { added: [], removed: [], diffs: [] }
    this.#deps.facts.publish('tools_changed', {
      server_id,
      ...nothing,
      changed: [tool],
      tool_count: tools.length,
    })
  }

  /** Its rows go with the server itself. */
  forget(server_id: string): void {
    this.#book.forget(server_id)
    this.#shown.delete(server_id)
    this.#deps.notes.forget(server_id)
  }

  /** What was seen is kept: soon by itself, and before the end. */
  async save(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const keys = [...this.#unsaved.values()]
    this.#unsaved.clear()
    if (keys.length === 0) return
    await this.#deps.store
      .save(keys, (key) => this.#book.get(key))
      .catch((error: unknown) => {
        for (const key of keys) this.#unsaved.set(nameOf(key), key) // with the next ones
        this.#deps.onTrouble(error)
      })
  }

  async close(): Promise<void> {
    await this.#deps.notes.close()
    await this.save()
  }

  #put(pin: Pin): void {
    this.#book.put(pin)
    this.#save(pin)
  }

  #save({ server_id, tool }: PinKey): void {
    const key = { server_id, tool }
    this.#unsaved.set(nameOf(key), key)
    this.#timer ??= setTimeout(() => void this.save(), SAVE_AFTER_MS)
  }

  #diffsOf(changed: readonly Changed[]): ToolDiff[] {
    const some = changed.slice(0, MOST_TOOLS).map(({ pin, definition }) => {
      return { tool: pin.tool, before: approvedIn(pin, this.#deps.redact), after: definition }
    })
    return diffsOf(some)
  }
}

interface Changed {
  readonly pin: Pin
  readonly definition: Definition
}

/** A text that is not the one that was hashed, because the file was damaged, has nothing to say. */
function approvedIn({ definition, hash }: Pin, redact: Deps['redact']): Definition {
  try {
    const known: Definition = JSON.parse(definition)
    return hashOf(known) === hash ? JSON.parse(redact(definition)) : {}
  } catch {
    return {}
  }
}

const nameOf = ({ server_id, tool }: PinKey): string => `${server_id}\0${tool}`

const NONE: ReadonlyMap<string, HeldChange> = new Map()

const pinOf = (server_id: string, tool: string, definition: Definition, now: number): Pin => ({
  server_id,
  tool,
  hash: hashOf(definition),
  definition: JSON.stringify(definition),
  approved_at: now,
  seen_hash: null,
  seen_at: null,
})

const nothingToApprove = (sentence: string): AppError =>
  new AppError('nothing_to_approve', sentence.slice(0, 200), {
    hint: 'GET the tools of the server: `state` says which wait, and `hash` what they are now',
  })
