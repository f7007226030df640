import type { FactBus, Facts } from '../../kernel/fact-bus.ts'
import type { ServerState } from '../../kernel/server-state.ts'
import { isoTime } from '../../kernel/time.ts'
import type { Topic } from './live.schema.ts'

/** An event, serialised once for all clients. */
export interface LiveEvent {
  readonly event: number
  readonly topic: Topic
  readonly ts: string
  /** JSON. */
  readonly data: string
  /** For subscriptions to some servers only. */
  readonly server_id: string | null
  /** Monotonic time in ms. */
  readonly at: number
}

interface Deps {
  readonly now: () => number
  readonly clock: () => number
}

/** How long events are kept for clients that reconnect. */
const WINDOW_MS = 60_000
const WINDOW_BYTES = 8 * 1024 * 1024
/** Expired events are removed from the array in blocks of at least this size. */
const COMPACT_FROM = 1024
/** Topics that are never kept: their events are outdated within seconds, or too many. */
const TRANSIENT: readonly Topic[] = ['metrics', 'log', 'server_resources']

const NOT_KEPT = Number.NEGATIVE_INFINITY

/** Numbers events, and keeps those of the last minute while a client is connected or may reconnect. */
export class Feed {
  readonly #deps: Deps
  readonly #listeners = new Set<(event: LiveEvent) => void>()
  /** Valid from index `#first` on: removing each event from the front would move all others. */
  #recent: LiveEvent[] = []
  #first = 0
  #bytes = 0
  /** Until then a disconnected client may reconnect without missing an event. */
  #keptUntil = NOT_KEPT
  /** The number of the newest event that is no longer kept. */
  #expired: number
  #last: number

  /** Numbers start at the current time, so that they are higher than those of an earlier run. */
  constructor(deps: Deps) {
    this.#deps = deps
    this.#last = deps.now() * 1000
    this.#expired = this.#last
  }

  get last(): number {
    return this.#last
  }

  get hasListeners(): boolean {
    return this.#listeners.size > 0
  }

  /** `shown` makes the data of the event. It is called only for events that are sent or kept. */
  publish<D extends object>(
    topic: Topic,
    data: D,
    server_id: string | null = null,
    shown?: (data: D) => object,
  ): void {
    this.#last += 1
    const isTransient = TRANSIENT.includes(topic)
    if (!this.hasListeners && (isTransient || this.#keptUntil === NOT_KEPT)) {
      if (!isTransient) this.#expired = this.#last
      return
    }
    const { now, clock } = this.#deps
    const at = clock()
    if (!this.hasListeners && at >= this.#keptUntil) {
      this.#expireAll()
      return
    }
    const text = JSON.stringify(shown ? shown(data) : data)
    const event = { event: this.#last, topic, ts: isoTime(now()), data: text, server_id, at }
    if (!isTransient) this.#keep(event)
    for (const listener of this.#listeners) listener(event)
  }

  on(listener: (event: LiveEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => {
      this.#keptUntil = this.#deps.clock() + WINDOW_MS
      this.#listeners.delete(listener)
    }
  }

  /** The events between two numbers, both exclusive; undefined when some of them are no longer kept. */
  between(after: number, before: number): readonly LiveEvent[] | undefined {
    this.#expire()
    if (after < this.#expired || after > this.#last) return undefined
    return this.#recent.filter(({ event }, at) => at >= this.#first && event > after && event < before)
  }

  #keep(event: LiveEvent): void {
    this.#recent.push(event)
    this.#bytes += event.data.length
    if (this.#bytes > WINDOW_BYTES || this.#recent.length % 256 === 0) this.#expire()
  }

  #expire(): void {
    const oldest = this.#deps.clock() - WINDOW_MS
    for (let event = this.#recent[this.#first]; event; event = this.#recent[this.#first]) {
      if (event.at >= oldest && this.#bytes <= WINDOW_BYTES) break
      this.#bytes -= event.data.length
      this.#expired = event.event
      this.#first += 1
    }
    if (this.#first < COMPACT_FROM || this.#first * 2 < this.#recent.length) return
    this.#recent = this.#recent.slice(this.#first)
    this.#first = 0
  }

  /** No client is connected, and none may reconnect. */
  #expireAll(): void {
    this.#expired = this.#last
    this.#keptUntil = NOT_KEPT
    this.#recent = []
    this.#first = 0
    this.#bytes = 0
  }
}

/** Facts with a `server_id` that are published unchanged. */
const SERVER_FACTS = [
  'call_started',
  'server_added',
  'server_updated',
  'server_removed',
  'tools_changed',
  'http_server_check',
  'http_server_login',
] as const

/** Publishes facts as events. They contain numbers, names and tool definitions, but no content of calls and no settings. */
export function publishFacts(facts: FactBus, feed: Feed): (() => void)[] {
  return [
    ...SERVER_FACTS.map((kind) => facts.on(kind, (fact) => feed.publish(kind, fact, fact.server_id))),
    facts.on('call_completed', (call) => feed.publish('call_completed', call, call.server_id, shownOf)),
    facts.on('package_progress', (fact) => feed.publish('package_progress', fact)),
    facts.on('image_progress', (fact) => feed.publish('image_progress', fact)),
    facts.on('server_resources', ({ server_id, resources }) =>
      feed.publish('server_resources', { server_id, ...resources }, server_id),
    ),
    facts.on('agent_changed', (fact) => feed.publish('agent_changed', fact)),
    facts.on('notice', (fact) => feed.publish('notice', fact, fact.server_id)),
    facts.on('server_status', ({ server_id, state, cause }) =>
      feed.publish('server_status', { server_id, ...stateOf(state), cause }, server_id),
    ),
  ]
}

/** Without the sentence about an error, which may quote the server. */
function shownOf({ error_message: _, started_at: __, ...shown }: Facts['call_completed']): object {
  return shown
}

/** With times in ISO format. */
function stateOf(state: ServerState): object {
  switch (state.status) {
    case 'running':
      return { ...state, started_at: isoTime(state.started_at) }
    case 'backoff':
      return { ...state, next_retry_at: isoTime(state.next_retry_at) }
    case 'idle':
      return { ...state, since: isoTime(state.since) }
    case 'starting':
    case 'stopping':
    case 'stopped':
    case 'failed':
      return state
  }
}
