import { didYouMean } from '../../kernel/did-you-mean.ts'
import { LEVEL_RANK, type LogEntry } from '../../kernel/log.ts'
import { isoTime } from '../../kernel/time.ts'
import type { problemIn } from '../../kernel/validate.ts'
import type { Feed, LiveEvent } from './event-feed.ts'
import {
  type LogFilter,
  MESSAGES,
  type Message,
  type MessageType,
  type SubscribeMessage,
  TOPICS,
  type Topic,
} from './live.schema.ts'

interface Deps {
  readonly feed: Feed
  readonly version: string
  readonly home: string
  readonly interval_ms: number
  /** The current state. Later events are changes to it. */
  readonly snapshot: () => object
  readonly now: () => number
  readonly clock: () => number
  /** Checks a message of the client. It is loaded with the REST API, which the gateway does not wait for. */
  readonly problemIn: typeof problemIn
}

/** Above this backlog, frequent events are skipped. */
const SKIP_ABOVE_BYTES = 256 * 1024
/** Above this backlog, the connection is closed. */
const CLOSE_ABOVE_BYTES = 1024 * 1024
const MESSAGES_PER_S = 50

/** One connection to the stream, with its subscription and backlog. */
export class LiveClient {
  readonly #socket: LiveSocket
  readonly #deps: Deps
  readonly #subscription = new Subscription()
  readonly #unsubscribe: () => void
  readonly #lines = new LineBatch((lines, data) => this.#sendLines(lines, data))
  #seq = 0
  /** The first event after the last snapshot. */
  #since = 0
  #dropped = 0
  #second = { since: 0, messages: 0 }
  #closed = false

  /** Sends `hello` and the snapshot and subscribes in one synchronous step, so that no event is missed. */
  constructor(socket: LiveSocket, deps: Deps) {
    this.#socket = socket
    this.#deps = deps
    const { version, home, interval_ms } = deps
    const { topics: subscribed } = this.#subscription
    this.#send('hello', { version, home, interval_ms, topics: TOPICS, subscribed })
    this.#snapshot()
    this.#unsubscribe = deps.feed.on((event) => this.#forward(event))
    socket.onMessage((text) => this.#receive(text))
    socket.onClose(() => this.#end())
  }

  heartbeat(): void {
    this.#send('heartbeat', {})
  }

  close(code: number, reason: string): void {
    if (this.#closed) return
    this.#end()
    this.#socket.close(code, reason)
  }

  #end(): void {
    this.#closed = true
    this.#unsubscribe()
  }

  #snapshot(): void {
    this.#since = this.#deps.feed.last + 1
    this.#send('snapshot', this.#deps.snapshot())
  }

  #forward(event: LiveEvent): void {
    if (!this.#subscription.includes(event)) return
    if (event.topic === 'log' && this.#subscription.isBatched) {
      this.#lines.add(event.data)
      return
    }
    const skippable = event.topic === 'metrics' || event.topic === 'log'
    if (skippable && this.#socket.unsentBytes > SKIP_ABOVE_BYTES) {
      this.#dropped += 1
      return
    }
    this.#reportDropped()
    this.#write(event.topic, event.event, event.ts, event.data)
  }

  #sendLines(lines: number, data: string): void {
    if (this.#socket.unsentBytes > SKIP_ABOVE_BYTES) {
      this.#dropped += lines
      return
    }
    this.#reportDropped()
    this.#write('logs', this.#deps.feed.last, isoTime(this.#deps.now()), data)
  }

  /** Once the backlog is small enough again. */
  #reportDropped(): void {
    if (this.#dropped === 0 || this.#socket.unsentBytes > SKIP_ABOVE_BYTES) return
    const messages = this.#dropped
    this.#dropped = 0
    this.#send('dropped', { frames: messages })
  }

  #send(type: MessageType, data: object): void {
    this.#write(type, this.#deps.feed.last, isoTime(this.#deps.now()), JSON.stringify(data))
  }

  #write(type: MessageType, event: number, ts: string, data: string): void {
    if (this.#closed) return
    this.#seq += 1
    this.#socket.send(
      `{"v":1,"type":"${type}","seq":${this.#seq},"event":${event},"ts":"${ts}","data":${data}}`,
    )
    if (this.#socket.unsentBytes > CLOSE_ABOVE_BYTES)
      this.close(CLOSE.tryAgainLater, 'client reads too slowly')
  }

  #receive(text: string | null): void {
    if (text === null) this.close(CLOSE.notText, 'only text messages are supported')
    else if (this.#isTooFast()) this.close(CLOSE.tooMany, `more than ${MESSAGES_PER_S} messages a second`)
    else {
      const message = readMessage(text, this.#deps.problemIn)
      if (typeof message === 'string') this.#send('error', { code: 'invalid_message', message })
      else this.#handle(message)
    }
  }

  #handle(message: Message): void {
    switch (message.type) {
      case 'ping':
        this.#send('heartbeat', {})
        break
      case 'subscribe':
        this.#lines.flush() // those of the old subscription
        this.#subscription.add(message)
        break
      case 'unsubscribe':
        this.#lines.flush()
        this.#subscription.remove(message.topics)
        break
      case 'resume':
        this.#resume(message.last_event)
        break
    }
  }

  /** Sends the events missed between two connections, or a new snapshot. */
  #resume(last: number): void {
    const missed = this.#deps.feed.between(last, this.#since)
    if (!missed) {
      this.#snapshot()
      return
    }
    for (const event of missed)
      if (this.#subscription.includes(event)) this.#write(event.topic, event.event, event.ts, event.data)
    this.#since = Math.min(this.#since, last + 1) // a second `resume` sends nothing twice
  }

  #isTooFast(): boolean {
    const now = this.#deps.clock()
    if (now - this.#second.since > 1000) this.#second = { since: now, messages: 0 }
    this.#second.messages += 1
    return this.#second.messages > MESSAGES_PER_S
  }
}

/** The message, or the reason why it is invalid. */
function readMessage(text: string, problemOf: typeof problemIn): Message | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'The message is not valid JSON'
  }
  const type = (value as { type?: unknown } | null)?.type
  const names = Object.keys(MESSAGES)
  if (typeof type !== 'string' || !names.includes(type)) return `type must be one of ${names.join(', ')}`
  return unknownTopic(value) ?? problemOf(MESSAGES[type as Message['type']], value) ?? (value as Message)
}

function unknownTopic(value: unknown): string | undefined {
  const { topics } = value as { topics?: unknown }
  if (!Array.isArray(topics)) return undefined
  const known: readonly unknown[] = TOPICS
  const topic: unknown = topics
    .slice(0, TOPICS.length)
    .find((each) => typeof each === 'string' && !known.includes(each))
  if (typeof topic !== 'string') return undefined
  const hint = didYouMean(topic, TOPICS) ?? `The topics are ${TOPICS.join(', ')}`
  return `No topic is called '${topic.slice(0, 100)}'. ${hint}`
}

/** How long lines are collected. The log stores them in batches, so most come together anyway. */
const COLLECT_MS = 50
const MAX_BYTES = 64 * 1024

/** Collects log lines for a client that wants them together: a browser needs much longer for a message than for a line. */
class LineBatch {
  readonly #send: (lines: number, data: string) => void
  #lines: string[] = []
  #bytes = 0
  #timer: NodeJS.Timeout | undefined

  /** `data` is a JSON list of the lines. */
  constructor(send: (lines: number, data: string) => void) {
    this.#send = send
  }

  add(line: string): void {
    this.#lines.push(line)
    this.#bytes += line.length
    if (this.#bytes >= MAX_BYTES) this.flush()
    else this.#timer ??= setTimeout(() => this.flush(), COLLECT_MS).unref()
  }

  flush(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const lines = this.#lines
    this.#lines = []
    this.#bytes = 0
    if (lines.length > 0) this.#send(lines.length, `[${lines.join(',')}]`)
  }
}

/** The topics and filters of one client. */
class Subscription {
  readonly #topics = new Map<Topic, ReadonlySet<string> | null>(
    TOPICS.filter((topic) => topic !== 'log').map((topic) => [topic, null]),
  )
  #log: LogFilter = {}
  /** Whether log lines are sent together. */
  isBatched = false

  /** `server_ids` limits the topics to these servers. Events of no server are still included, except log lines. */
  add({ topics, server_ids, filter, batch = false }: Omit<SubscribeMessage, 'type'>): void {
    for (const topic of topics) this.#topics.set(topic, server_ids ? new Set(server_ids) : null)
    if (!topics.includes('log')) return
    this.#log = filter ?? {}
    this.isBatched = batch
  }

  remove(topics: readonly Topic[]): void {
    for (const topic of topics) this.#topics.delete(topic)
  }

  includes({ topic, server_id, data }: LiveEvent): boolean {
    const servers = this.#topics.get(topic)
    if (servers === undefined) return false
    if (servers !== null && server_id !== null && !servers.has(server_id)) return false
    if (servers !== null && server_id === null && topic === 'log') return false
    return topic !== 'log' || this.#fits(data)
  }

  get topics(): Topic[] {
    return [...this.#topics.keys()]
  }

  #fits(data: string): boolean {
    const { level, source, stream, search } = this.#log
    if (level === undefined && !source && !stream && search === undefined) return true
    const entry = JSON.parse(data) as LogEntry
    if (level !== undefined && LEVEL_RANK[entry.level] < LEVEL_RANK[level]) return false
    if (source && !source.includes(entry.source)) return false
    if (stream && !(entry.stream && stream.includes(entry.stream))) return false
    return search === undefined || entry.message.toLowerCase().includes(search.toLowerCase())
  }
}

/** A WebSocket connection. Implemented in `api/http/websocket.ts`. */
export interface LiveSocket {
  send(text: string): void
  /** Bytes that are still buffered in this process. */
  readonly unsentBytes: number
  close(code: number, reason: string): void
  /** Receives null for a message that is not text. */
  onMessage(listener: (text: string | null) => void): void
  onClose(listener: () => void): void
}

/** WebSocket close codes (RFC 6455 and its registry). */
export const CLOSE = { goingAway: 1001, notText: 1003, tooMany: 1008, tryAgainLater: 1013 } as const
