import type { ServerResponse } from 'node:http'
import type { Drops } from '../notify/drop-counter.ts'
import type { EventLog } from './replay-log.ts'
import { eventOf, SLOW_BYTES, SSE, STUCK_BYTES } from './sse-format.ts'

/** What makes a stream of a session one that can be taken up again. */
interface Numbered {
  readonly log: EventLog
  readonly number: number
  /** Whether an event without data may tell the first id. Older agents take each event for a message. */
  readonly primes: boolean
}

/** So long an agent may be away before it counts as gone. They come back after a second or two. */
const AWAY_MS = 10_000
const RETRY_MS = 1000

/** Messages to one agent, over one connection, or over several in turn when it belongs to a session. */
export class EventStream {
  readonly #numbered: Numbered | undefined
  readonly #drops: Drops
  readonly #awayMs: number
  #response: ServerResponse | undefined
  #away: NodeJS.Timeout | undefined
  #over = false
  /** Nobody hears it, and nobody came back for it. */
  isLost = false
  /** Called when it is lost. */
  onLost: (() => void) | undefined

  constructor(response: ServerResponse, drops: Drops, numbered?: Numbered, awayMs = AWAY_MS) {
    this.#numbered = numbered
    this.#drops = drops
    this.#awayMs = awayMs
    response.writeHead(200, SSE)
    this.#attach(response)
    if (!numbered?.primes) return
    response.write(`id: ${numbered.number}-${numbered.log.next()}\nretry: ${RETRY_MS}\ndata: \n\n`)
  }

  /** Within its session. */
  get number(): number {
    return this.#numbered?.number ?? 0
  }

  get isHeard(): boolean {
    return this.#response !== undefined
  }

  /** Goes on over another connection, with what came after that event. */
  resume(response: ServerResponse, after: number): void {
    const before = this.#response
    response.writeHead(200, SSE)
    this.#attach(response)
    before?.end()
    const missed = this.#numbered?.log.after(this.#numbered.number, after) ?? []
    for (const event of missed) response.write(event)
    if (missed.length === 0) response.flushHeaders()
  }

  /** Something that may be missed: whoever reads slowly does. */
  tell(message: string): void {
    const unsent = this.#response?.writableLength ?? 0
    if (unsent <= SLOW_BYTES) {
      this.say(message)
      return
    }
    this.#drops.add()
    if (unsent >= STUCK_BYTES) this.#response?.destroy()
  }

  /** Something that must be heard. */
  say(message: string | Buffer): void {
    if (this.#over) return
    const event = this.#event(message)
    const response = this.#response
    if (response && response.writableLength >= STUCK_BYTES) response.destroy()
    else response?.write(event)
  }

  end(message?: string | Buffer): void {
    if (this.#over) return
    if (message !== undefined) this.say(message)
    this.#over = true
    clearTimeout(this.#away)
    this.#response?.end()
  }

  #attach(response: ServerResponse): void {
    clearTimeout(this.#away)
    this.isLost = false
    this.#response = response
    response.once('close', () => {
      if (this.#response !== response) return
      this.#response = undefined
      if (!this.#over) this.#away = setTimeout(() => this.#lose(), this.#awayMs).unref()
    })
  }

  #lose(): void {
    this.isLost = true
    this.onLost?.()
  }

  #event(message: string | Buffer): Buffer {
    if (!this.#numbered) return eventOf(message)
    const { log, number: stream } = this.#numbered
    const number = log.next()
    const event = eventOf(message, `${stream}-${number}`)
    log.keep(stream, number, event)
    return event
  }
}
