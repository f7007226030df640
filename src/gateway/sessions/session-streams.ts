import type { HttpResponse } from '../../kernel/http/http-types.ts'
import { invalidRequest, type RpcError } from '../messages/rpc-error.ts'
import { type DropCounter, EventStream, messageOf, type ReplayBuffer, SSE_HEADERS } from './event-stream.ts'

const GET_STREAM = 0 // its number
const ID = /^(\d{1,10})-(\d{1,15})$/

/** The event streams of one session: its GET stream, and responses that became streams. */
export class SessionStreams {
  readonly #log: ReplayBuffer
  readonly #drops: DropCounter
  readonly #primes: boolean
  readonly #responses = new Map<number, EventStream>()
  #getStream: EventStream | undefined
  #lastNumber = GET_STREAM

  constructor(log: ReplayBuffer, drops: DropCounter, version: string) {
    this.#log = log
    this.#drops = drops
    this.#primes = version >= '2025-11-25'
  }

  /** Whether the GET stream is connected. */
  get isListening(): boolean {
    return this.#getStream?.isConnected === true
  }

  get getStream(): EventStream | undefined {
    return this.#getStream
  }

  /** Opens the GET stream. It replaces an earlier one. */
  listen(response: HttpResponse): void {
    this.#getStream?.end()
    this.#getStream = this.#open(GET_STREAM, response)
    if (!this.#primes) response.flushHeaders()
  }

  /** Turns a response into a stream, for messages before the result. */
  openResponse(response: HttpResponse): EventStream {
    this.#lastNumber += 1
    const number = this.#lastNumber
    const stream = this.#open(number, response)
    this.#responses.set(number, stream)
    return stream
  }

  /** Sends the result and ends the stream. A client that missed it can replay it. */
  complete(stream: EventStream, message: Buffer): void {
    stream.end(message)
    this.#responses.delete(stream.number)
  }

  /**
   * Continues a stream after an event. If that event is no longer kept, an open stream continues with what is left; a
   * stream that has ended cannot be resumed.
   */
  resume(lastEventId: string, response: HttpResponse): void {
    const [, number, after] = (ID.exec(lastEventId) ?? []).map(Number)
    if (number === undefined || after === undefined) throw unknownEvent()
    const stream = number === GET_STREAM ? this.#getStream : this.#responses.get(number)
    if (stream) stream.resume(response, after)
    else if (number === GET_STREAM) this.listen(response)
    else this.#replay(number, after, response)
  }

  /** Sends a notification on the GET stream. While the agent is disconnected, it is kept for replay. */
  notify(method: string, params?: object): void {
    this.#getStream?.notify(messageOf(method, params))
  }

  close(): void {
    this.#getStream?.end()
    for (const stream of this.#responses.values()) stream.end()
    this.#responses.clear()
    this.#log.close()
  }

  #open(number: number, response: HttpResponse): EventStream {
    return new EventStream(response, this.#drops, { log: this.#log, number, primes: this.#primes })
  }

  /** A client that has missed nothing gets 405: an empty stream would make it reconnect forever. */
  #replay(number: number, after: number, response: HttpResponse): void {
    const missed = this.#log.after(number, after)
    if (missed.length > 0) {
      response.writeHead(200, SSE_HEADERS)
      response.end(Buffer.concat(missed))
      return
    }
    if (!this.#log.has(number, after)) throw unknownEvent()
    throw invalidRequest('This stream has ended, and no event is missing', 405)
  }
}

const unknownEvent = (): RpcError => invalidRequest('Unknown Last-Event-ID, or the event is no longer kept')
