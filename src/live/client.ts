import { isoTime } from '../kernel/time.ts'
import { problemIn } from '../kernel/validate.ts'
import type { Feed, LiveEvent } from './feed.ts'
import { type Asked, type FrameType, MESSAGES, TOPICS } from './live.schema.ts'
import { CLOSE, type LiveSocket } from './socket.ts'
import { Subscription } from './subscription.ts'

interface Deps {
  readonly feed: Feed
  readonly version: string
  readonly interval_ms: number
  /** Everything that is true now; what comes later are changes of it. */
  readonly snapshot: () => object
  readonly now: () => number
  readonly clock: () => number
}

/** Above it, what comes again anyway is left out. */
const LEAVE_OUT_BYTES = 256 * 1024
/** Above it, whoever does not read is let go. */
const LET_GO_BYTES = 1024 * 1024
const MESSAGES_PER_S = 50

/** One listener: what it wants, what it was sent, what it was spared. */
export class LiveClient {
  readonly #socket: LiveSocket
  readonly #deps: Deps
  readonly #subscription = new Subscription()
  readonly #leave: () => void
  #seq = 0
  /** The first event that is not part of its snapshot. */
  #since = 0
  #dropped = 0
  #second = { since: 0, messages: 0 }
  #closed = false

  /** Greeting, snapshot and subscription are one synchronous step: no event falls between. */
  constructor(socket: LiveSocket, deps: Deps) {
    this.#socket = socket
    this.#deps = deps
    const { version, interval_ms } = deps
    this.#send('hello', { version, interval_ms, topics: TOPICS, subscribed: this.#subscription.topics })
    this.#snapshot()
    this.#leave = deps.feed.on((event) => this.#tell(event))
    socket.onMessage((text) => this.#hear(text))
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
    this.#leave()
  }

  #snapshot(): void {
    this.#since = this.#deps.feed.last + 1
    this.#send('snapshot', this.#deps.snapshot())
  }

  #tell(event: LiveEvent): void {
    if (!this.#subscription.wants(event)) return
    const spare = event.topic === 'metrics' || event.topic === 'log'
    if (spare && this.#socket.unsentBytes > LEAVE_OUT_BYTES) {
      this.#dropped += 1
      return
    }
    this.#report()
    this.#write(event.topic, event.event, event.ts, event.data)
  }

  /** As soon as there is room again. */
  #report(): void {
    if (this.#dropped === 0 || this.#socket.unsentBytes > LEAVE_OUT_BYTES) return
    const frames = this.#dropped
    this.#dropped = 0
    this.#send('dropped', { frames })
  }

  #send(type: FrameType, data: object): void {
    this.#write(type, this.#deps.feed.last, isoTime(this.#deps.now()), JSON.stringify(data))
  }

  #write(type: FrameType, event: number, ts: string, data: string): void {
    if (this.#closed) return
    this.#seq += 1
    this.#socket.send(
      `{"v":1,"type":"${type}","seq":${this.#seq},"event":${event},"ts":"${ts}","data":${data}}`,
    )
    if (this.#socket.unsentBytes > LET_GO_BYTES) this.close(CLOSE.tryAgainLater, 'it does not read')
  }

  #hear(text: string | null): void {
    if (text === null) this.close(CLOSE.notText, 'text only')
    else if (this.#tooOften()) this.close(CLOSE.tooMany, `more than ${MESSAGES_PER_S} messages a second`)
    else {
      const asked = readAsked(text)
      if (typeof asked === 'string') this.#send('error', { code: 'invalid_message', message: asked })
      else this.#answer(asked)
    }
  }

  #answer(asked: Asked): void {
    switch (asked.type) {
      case 'ping':
        this.#send('heartbeat', {})
        break
      case 'subscribe':
        this.#subscription.add(asked.topics, asked.server_ids, asked.filter)
        break
      case 'unsubscribe':
        this.#subscription.remove(asked.topics)
        break
      case 'resume':
        this.#resume(asked.last_event)
        break
    }
  }

  /** What happened between the last connection and this one, or all that is true now. */
  #resume(last: number): void {
    const missed = this.#deps.feed.between(last, this.#since)
    if (!missed) {
      this.#snapshot()
      return
    }
    for (const event of missed)
      if (this.#subscription.wants(event)) this.#write(event.topic, event.event, event.ts, event.data)
    this.#since = Math.min(this.#since, last + 1) // the second time there is nothing left to tell
  }

  #tooOften(): boolean {
    const now = this.#deps.clock()
    if (now - this.#second.since > 1000) this.#second = { since: now, messages: 0 }
    this.#second.messages += 1
    return this.#second.messages > MESSAGES_PER_S
  }
}

/** The message, or what is wrong with it. */
function readAsked(text: string): Asked | string {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    return 'The message is not valid JSON'
  }
  const type = (value as { type?: unknown } | null)?.type
  const names = Object.keys(MESSAGES)
  if (typeof type !== 'string' || !names.includes(type)) return `type must be one of ${names.join(', ')}`
  const problem = problemIn(MESSAGES[type as Asked['type']], value)
  return problem ?? (value as Asked)
}
