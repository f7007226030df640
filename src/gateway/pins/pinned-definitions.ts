import type { PinKind } from '../../servers/shared/catalogues.ts'

export interface PinKey {
  readonly server_id: string
  /** `list`: the list of that name has been seen once, so that everything it gains later is new. */
  readonly kind: PinKind | 'list'
  readonly name: string
}

/** The approved definition of a tool or a prompt, or the approved instructions. */
export interface Pin extends PinKey {
  /** Empty when nothing was approved yet. */
  readonly hash: string
  /** As JSON, because it is needed only for a comparison. */
  readonly definition: string
  readonly approved_at: number
  /** The hash of the definition that waits for approval. */
  readonly seen_hash: string | null
  readonly seen_at: number | null
}

/** Limits of one list of one server. A first listing, with at most 5,000 entries and 8 MiB, always has room. */
const MAX_PINS = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024

interface List {
  readonly pins: Map<string, Pin>
  characters: number
}

/** All pins, by server and list. An approved pin is never removed to make room for another one. */
export class PinnedDefinitions {
  readonly #byServer = new Map<string, Map<PinKey['kind'], List>>()

  constructor(pins: readonly Pin[]) {
    for (const pin of pins) this.put(pin)
  }

  get({ server_id, kind, name }: PinKey): Pin | undefined {
    return this.#byServer.get(server_id)?.get(kind)?.pins.get(name)
  }

  of(server_id: string, kind: PinKind): Iterable<Pin> {
    return this.#byServer.get(server_id)?.get(kind)?.pins.values() ?? []
  }

  put(pin: Pin): void {
    const lists = this.#byServer.get(pin.server_id) ?? new Map<PinKey['kind'], List>()
    const list = lists.get(pin.kind) ?? { pins: new Map(), characters: 0 }
    this.#byServer.set(pin.server_id, lists.set(pin.kind, list))
    list.characters += pin.definition.length - (list.pins.get(pin.name)?.definition.length ?? 0)
    list.pins.set(pin.name, pin)
  }

  /** Whether a pin may take the place of the one with its key, or become a new one. */
  hasRoom(pin: Pin): boolean {
    const list = this.#byServer.get(pin.server_id)?.get(pin.kind)
    if (!list) return true
    const replaced = list.pins.get(pin.name)
    const characters = list.characters + pin.definition.length - (replaced?.definition.length ?? 0)
    return (replaced !== undefined || list.pins.size < MAX_PINS) && characters <= MAX_CHARACTERS
  }

  remove({ server_id, kind, name }: PinKey): void {
    const list = this.#byServer.get(server_id)?.get(kind)
    if (!list) return
    list.characters -= list.pins.get(name)?.definition.length ?? 0
    list.pins.delete(name)
  }

  forget(server_id: string): void {
    this.#byServer.delete(server_id)
  }
}
