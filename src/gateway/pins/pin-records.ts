import type { Definition } from '../../protocol/lists.ts'

export interface PinKey {
  readonly server_id: string
  readonly tool: string
}

/** A tool as it was approved. */
export interface Pin extends PinKey {
  readonly hash: string
  /** JSON: it is read only when there is something to compare. */
  readonly definition: string
  readonly approved_at: number
  /** Of the definition that waits for approval. */
  readonly seen_hash: string | null
  readonly seen_at: number | null
}

/** A server can make up new names for ever. Of what it no longer offers, the oldest is forgotten first. */
const MOST_PINS = 10_000
const MOST_CHARACTERS = 16 * 1024 * 1024

/** Every pin, by server and tool. */
export class PinBook {
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

  /** Forgets what is too much, and says what that was. What is offered now always stays. */
  shed(server_id: string, offered: readonly Definition[]): PinKey[] {
    const pins = this.#byServer.get(server_id)
    if (!pins || pins.size <= offered.length) return []
    let characters = 0
    for (const { definition } of pins.values()) characters += definition.length
    if (pins.size <= MOST_PINS && characters <= MOST_CHARACTERS) return []
    const here = new Set(offered.map(({ name }) => String(name)))
    const gone = [...pins.values()].filter(({ tool }) => !here.has(tool))
    const shed: PinKey[] = []
    for (const { tool, definition } of gone.sort((a, b) => a.approved_at - b.approved_at)) {
      if (pins.size <= MOST_PINS && characters <= MOST_CHARACTERS) break
      characters -= definition.length
      pins.delete(tool)
      shed.push({ server_id, tool })
    }
    return shed
  }
}
