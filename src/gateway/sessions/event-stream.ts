import type { HttpResponse } from '../../kernel/http/exchange.ts'
import type { DropCounter } from '../notify/drop-counter.ts'
import type { ReplayBuffer } from './replay-buffer.ts'
import { eventOf, SLOW_BYTES, SSE_HEADERS, STUCK_BYTES } from './sse-format.ts'

/** What a stream needs to be resumable. */
interface Replay {
  readonly log: ReplayBuffer
  readonly number: number
  /** Whether the stream starts with an empty event that has an id. Older clients would parse it as a message. */
  readonly primes: boolean
}

/** How long a client may take to reconnect. Clients usually do within two seconds. */
const RECONNECT_MS = 10_000
const RETRY_MS = 1000

/** Messages to one agent. A stream of a session survives a lost connection and continues on the next one. */
export class EventStream {
  readonly #replay: Replay | undefined
  readonly #drops: DropCounter
  readonly #reconnectMs: number
  #response: HttpResponse | undefined
  #reconnectTimer: NodeJS.Timeout | undefined
  #ended = false
  /** The client is disconnected and did not reconnect in time. */
  isLost = false
  /** Called when the stream is lost. */
  onLost: (() => void) | undefined

  constructor(response: HttpResponse, drops: DropCounter, replay?: Replay, reconnectMs = RECONNECT_MS) {
    this.#replay = replay
    this.#drops = drops
    this.#reconnectMs = reconnectMs
    response.writeHead(200, SSE_HEADERS)
    this.#attach(response)
    if (!replay?.primes) return
    response.write(`id: ${replay.number}-${replay.log.next()}\nretry: ${RETRY_MS}\ndata: \n\n`)
  }

  /** The number of the stream in its session. */
  get number(): number {
    return this.#replay?.number ?? 0
  }

  get isConnected(): boolean {
    return this.#response !== undefined
  }

  /** Continues on another connection, after the given event. */
  resume(response: HttpResponse, after: number): void {
    const before = this.#response
    response.writeHead(200, SSE_HEADERS)
    this.#attach(response)
    before?.end()
    const missed = this.#replay?.log.after(this.#replay.number, after) ?? []
    for (const event of missed) response.write(event)
    if (missed.length === 0) response.flushHeaders()
  }

  /** Sends a notification. Dropped when the client reads too slowly. */
  notify(message: string): void {
    const unsent = this.#response?.writableLength ?? 0
    if (unsent <= SLOW_BYTES) {
      this.send(message)
      return
    }
    this.#drops.add()
    if (unsent >= STUCK_BYTES) this.#response?.destroy()
  }

  /** Sends a message that is never dropped. */
  send(message: string | Buffer): void {
    if (this.#ended) return
    const event = this.#event(message)
    const response = this.#response
    if (response && response.writableLength >= STUCK_BYTES) response.destroy()
    else response?.write(event)
  }

  end(message?: string | Buffer): void {
    if (this.#ended) return
    if (message !== undefined) this.send(message)
    this.#ended = true
    clearTimeout(this.#reconnectTimer)
    this.#response?.end()
  }

  #attach(response: HttpResponse): void {
    clearTimeout(this.#reconnectTimer)
    this.isLost = false
    this.#response = response
    response.on('close', () => {
      if (this.#response !== response) return
      this.#response = undefined
      if (this.#ended) return
      this.#reconnectTimer = setTimeout(() => {
        this.isLost = true
        this.onLost?.()
      }, this.#reconnectMs).unref()
    })
  }

  #event(message: string | Buffer): Buffer {
    if (!this.#replay) return eventOf(message)
    const { log, number: stream } = this.#replay
    const number = log.next()
    const event = eventOf(message, `${stream}-${number}`)
    log.keep(stream, number, event)
    return event
  }
}
