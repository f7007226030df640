import { isoTime } from '../kernel/time.ts'
import type { Topic } from './live.schema.ts'

/** Something that happened, written once for everybody. */
export interface LiveEvent {
  readonly event: number
  readonly topic: Topic
  readonly ts: string
  /** JSON. */
  readonly data: string
  /** Whom it is about, for who listens to some servers only. */
  readonly server_id: string | null
  /** Of the monotonic clock. */
  readonly at: number
}

interface Deps {
  readonly now: () => number
  readonly clock: () => number
}

/** How long who was cut off may come back without having missed anything. */
const WINDOW_MS = 60_000
const WINDOW_BYTES = 8 * 1024 * 1024
/** These are of the moment, or far too many: nobody needs them later. */
const FLEETING: readonly Topic[] = ['metrics', 'log', 'server_resources']

/** Numbers what happens, and keeps the last minute of it. */
export class Feed {
  readonly #deps: Deps
  readonly #listeners = new Set<(event: LiveEvent) => void>()
  #recent: LiveEvent[] = []
  #bytes = 0
  /** The newest event that is no longer kept. */
  #forgotten: number
  #last: number

  /** The numbers go on from the time, so that those of an earlier run are known to be old. */
  constructor(deps: Deps) {
    this.#deps = deps
    this.#last = deps.now() * 1000
    this.#forgotten = this.#last
  }

  get last(): number {
    return this.#last
  }

  get heard(): boolean {
    return this.#listeners.size > 0
  }

  publish(topic: Topic, data: object, server_id: string | null = null): void {
    this.#last += 1
    const { now, clock } = this.#deps
    const text = JSON.stringify(data)
    const event = { event: this.#last, topic, ts: isoTime(now()), data: text, server_id, at: clock() }
    if (!FLEETING.includes(topic)) this.#keep(event)
    for (const listener of this.#listeners) listener(event)
  }

  on(listener: (event: LiveEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  /** What happened between two events, both left out; undefined when not all of it is known any more. */
  between(after: number, before: number): readonly LiveEvent[] | undefined {
    this.#forget()
    if (after < this.#forgotten || after > this.#last) return undefined
    return this.#recent.filter(({ event }) => event > after && event < before)
  }

  #keep(event: LiveEvent): void {
    this.#recent.push(event)
    this.#bytes += event.data.length
    if (this.#bytes > WINDOW_BYTES || this.#recent.length % 256 === 0) this.#forget()
  }

  #forget(): void {
    const oldest = this.#deps.clock() - WINDOW_MS
    let gone = 0
    for (const { at, data } of this.#recent) {
      if (at >= oldest && this.#bytes <= WINDOW_BYTES) break
      this.#bytes -= data.length
      gone += 1
    }
    if (gone === 0) return
    this.#forgotten = this.#recent[gone - 1]?.event ?? this.#forgotten
    this.#recent = this.#recent.slice(gone)
  }
}
