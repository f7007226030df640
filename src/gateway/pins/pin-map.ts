import type { Definition } from '../../protocol/lists.ts'

export interface PinKey {
  readonly server_id: string
  readonly tool: string
}

/** The approved definition of a tool. */
export interface Pin extends PinKey {
  readonly hash: string
  /** As JSON, because it is needed only for a comparison. */
  readonly definition: string
  readonly approved_at: number
  /** The hash of the definition that waits for approval. */
  readonly seen_hash: string | null
  readonly seen_at: number | null
}

/** Limits a server that keeps inventing tool names. */
const MAX_PINS = 10_000
const MAX_CHARACTERS = 16 * 1024 * 1024

/** All pins, by server and tool. */
export class PinnedDefinitions {
  readonly #byServer = new Map<string, Map<string, Pin>>()

  constructor(pins: readonly Pin[]) {
    for (const pin of pins) this.put(pin)
  }

  get({ server_id, tool }: PinKey): Pin | undefined {
    return this.#byServer.get(server_id)?.get(tool)
  }

  put(pin: Pin): void {
    const pins = this.#byServer.get(pin.server_id) ?? new Map<string, Pin>()
    this.#byServer.set(pin.server_id, pins.set(pin.tool, pin))
  }

  forget(server_id: string): void {
    this.#byServer.delete(server_id)
  }

  /** Removes the oldest pins above the limits and returns them. Pins of the current tools stay. */
  removeExcess(server_id: string, current: readonly Definition[]): PinKey[] {
    const pins = this.#byServer.get(server_id)
    if (!pins || pins.size <= current.length) return []
    let characters = 0
    for (const { definition } of pins.values()) characters += definition.length
    if (pins.size <= MAX_PINS && characters <= MAX_CHARACTERS) return []
    const names = new Set(current.map(({ name }) => String(name)))
    const gone = [...pins.values()].filter(({ tool }) => !names.has(tool))
    const removed: PinKey[] = []
    for (const { tool, definition } of gone.sort((a, b) => a.approved_at - b.approved_at)) {
      if (pins.size <= MAX_PINS && characters <= MAX_CHARACTERS) break
      characters -= definition.length
      pins.delete(tool)
      removed.push({ server_id, tool })
    }
    return removed
  }
}
