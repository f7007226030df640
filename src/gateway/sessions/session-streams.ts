import type { ServerResponse } from 'node:http'
import { CODES, RpcError } from '../endpoint/json-rpc.ts'
import type { Drops } from '../notify/drop-counter.ts'
import { EventStream } from './event-stream.ts'
import type { EventLog } from './replay-log.ts'
import { messageOf, SSE } from './sse-format.ts'

/** The number of the stream that an agent opens to hear what nobody asked for. */
const STANDING = 0
const ID = /^(\d{1,10})-(\d{1,15})$/

/** Everything a session hears: its standing stream, and the answers that became streams. */
export class Streams {
  readonly #log: EventLog
  readonly #drops: Drops
  readonly #primes: boolean
  readonly #answers = new Map<number, EventStream>()
  #standing: EventStream | undefined
  #last = STANDING

  constructor(log: EventLog, drops: Drops, version: string) {
    this.#log = log
    this.#drops = drops
    this.#primes = version >= '2025-11-25'
  }

  /** Whether there is a connection over which it hears what nobody asked for. */
  get isListening(): boolean {
    return this.#standing?.isHeard === true
  }

  /** The newest standing stream is the one that counts. */
  stand(response: ServerResponse): void {
    this.#standing?.end()
    this.#standing = this.#open(STANDING, response)
    if (!this.#primes) response.flushHeaders()
  }

  /** An answer that has something to say before its end. */
  answer(response: ServerResponse): EventStream {
    this.#last += 1
    const number = this.#last
    const stream = this.#open(number, response)
    this.#answers.set(number, stream)
    return stream
  }

  /** The last message of an answer. Whoever missed it finds it in the log. */
  complete(stream: EventStream, message: Buffer): void {
    stream.end(message)
    this.#answers.delete(stream.number)
  }

  /**
   * What came after this event on its stream, and then whatever comes on it. An event that is no longer kept is no obstacle
   * while its stream lives: the agent hears what is left. Of one that is over nothing can come.
   */
  resume(lastEventId: string, response: ServerResponse): void {
    const [, number, after] = (ID.exec(lastEventId) ?? []).map(Number)
    if (number === undefined || after === undefined) throw unknownEvent()
    const stream = number === STANDING ? this.#standing : this.#answers.get(number)
    if (stream) stream.resume(response, after)
    else if (number === STANDING) this.stand(response)
    else this.#replay(number, after, response)
  }

  /** What nobody asked for goes over the standing stream, or is kept for it while the agent is away. */
  tell(method: string, params?: object): void {
    this.#standing?.tell(messageOf(method, params))
  }

  close(): void {
    this.#standing?.end()
    for (const stream of this.#answers.values()) stream.end()
    this.#answers.clear()
    this.#log.close()
  }

  #open(number: number, response: ServerResponse): EventStream {
    return new EventStream(response, this.#drops, { log: this.#log, number, primes: this.#primes })
  }

  /** Agents come back also for answers that they have: 405 tells them to stop, where an empty stream makes them ask for ever. */
  #replay(number: number, after: number, response: ServerResponse): void {
    const missed = this.#log.after(number, after)
    if (missed.length > 0) {
      response.writeHead(200, SSE)
      response.end(Buffer.concat(missed))
      return
    }
    if (!this.#log.has(number, after)) throw unknownEvent()
    throw new RpcError(CODES.request, 'This stream is over, and nothing of it is missing', { status: 405 })
  }
}

const unknownEvent = (): RpcError =>
  new RpcError(CODES.request, 'No event with this Last-Event-ID is kept', { status: 400 })
