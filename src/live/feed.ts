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
/** So many that are forgotten may lie there until they are cleared away. */
const FEW = 1024
/** These are of the moment, or far too many: nobody needs them later. */
const FLEETING: readonly Topic[] = ['metrics', 'log', 'server_resources']

/** Numbers what happens, and keeps the last minute of it, as long as there is somebody who could ask for it. */
export class Feed {
  readonly #deps: Deps
  readonly #listeners = new Set<(event: LiveEvent) => void>()
  /** Kept are those from `#first` on: taking each away from the front would move all others. */
  #recent: LiveEvent[] = []
  #first = 0
  #bytes = 0
  /** Until then somebody who listened may come back. */
  #keptUntil = Number.NEGATIVE_INFINITY
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
    const at = clock()
    const isFleeting = FLEETING.includes(topic)
    if (!this.heard && (isFleeting || at >= this.#keptUntil)) {
      if (!isFleeting) this.#forgetAll()
      return
    }
    const text = JSON.stringify(data)
    const event = { event: this.#last, topic, ts: isoTime(now()), data: text, server_id, at }
    if (!isFleeting) this.#keep(event)
    for (const listener of this.#listeners) listener(event)
  }

  on(listener: (event: LiveEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#keptUntil = this.#deps.clock() + WINDOW_MS
      this.#listeners.delete(listener)
    }
  }

  /** What happened between two events, both left out; undefined when not all of it is known any more. */
  between(after: number, before: number): readonly LiveEvent[] | undefined {
    this.#forget()
    if (after < this.#forgotten || after > this.#last) return undefined
    return this.#recent.filter(({ event }, at) => at >= this.#first && event > after && event < before)
  }

  #keep(event: LiveEvent): void {
    this.#recent.push(event)
    this.#bytes += event.data.length
    if (this.#bytes > WINDOW_BYTES || this.#recent.length % 256 === 0) this.#forget()
  }

  #forget(): void {
    const oldest = this.#deps.clock() - WINDOW_MS
    for (let event = this.#recent[this.#first]; event; event = this.#recent[this.#first]) {
      if (event.at >= oldest && this.#bytes <= WINDOW_BYTES) break
      this.#bytes -= event.data.length
      this.#forgotten = event.event
      this.#first += 1
    }
    if (this.#first < FEW || this.#first * 2 < this.#recent.length) return
    this.#recent = this.#recent.slice(this.#first)
    this.#first = 0
  }

  /** Nobody listened for so long that nobody can come back. */
  #forgetAll(): void {
    this.#forgotten = this.#last
    if (this.#recent.length === 0) return
    this.#recent = []
    this.#first = 0
    this.#bytes = 0
  }
}
