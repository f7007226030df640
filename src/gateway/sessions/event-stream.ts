import type { HttpResponse } from '../../kernel/http/http-types.ts'
import { textOf } from '../../mcp/protocol/raw-json.ts'

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

export const SSE_HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** With more unsent bytes than this, the client is slow: notifications are dropped, responses are not. */
const SLOW_BYTES = 1024 * 1024
/** With this many unsent bytes, the connection is closed. */
const STUCK_BYTES = 4 * 1024 * 1024

/** A message as an event. The id lets a client resume on another connection. */
function eventOf(message: string | Buffer, id?: string): Buffer {
  const head = id === undefined ? HEAD : Buffer.from(`id: ${id}\nevent: message\ndata: `)
  return Buffer.concat([head, typeof message === 'string' ? Buffer.from(message) : onDataLines(message), END])
}

/** Results of remote servers may have line breaks. Each line of an event needs its own `data:`. */
const onDataLines = (json: Buffer): Buffer =>
  json.includes('\n') || json.includes('\r')
    ? Buffer.from(json.toString('utf8').replace(/\r\n?|\n/g, '\ndata: '))
    : json
const HEAD = Buffer.from('event: message\ndata: ')
const END = Buffer.from('\n\n')

/** A request, or without an id a notification. `params`: an object or its RawJson. */
export function messageOf(method: string, params?: unknown, id?: string): string {
  const head = `{"jsonrpc":"2.0"${id === undefined ? '' : `,"id":${JSON.stringify(id)}`}`
  return `${head},"method":${JSON.stringify(method)}${params ? `,"params":${textOf(params)}` : ''}}`
}

/** Keeps the connection open, or closes it when the client has stopped reading. */
export function sendHeartbeat(response: HttpResponse): void {
  if (response.writableLength >= STUCK_BYTES) response.destroy()
  else if (response.writableLength < SLOW_BYTES) response.write(': ping\n\n')
}

/** Counts dropped notifications. Reports the first at once, and the others as one sum per interval. */
export class DropCounter {
  readonly #intervalMs: number
  readonly #report: (count: number) => void
  #count = 0
  #interval: NodeJS.Timeout | undefined

  constructor(report: (count: number) => void, intervalMs = 60_000) {
    this.#report = report
    this.#intervalMs = intervalMs
  }

  add(): void {
    this.#count += 1
    if (!this.#interval) this.#flush()
  }

  #flush(): void {
    this.#interval = undefined
    if (this.#count === 0) return
    this.#report(this.#count)
    this.#count = 0
    this.#interval = setTimeout(() => this.#flush(), this.#intervalMs).unref()
  }
}

interface Kept {
  readonly stream: number
  readonly number: number
  readonly data: Buffer
  /** The order of all events of all sessions. */
  readonly age: number
}

const MAX_EVENTS = 256
const SESSION_BYTES = 1024 * 1024
const ALL_BYTES = 64 * 1024 * 1024

/** The replay logs of all sessions, with a common size limit. */
export class ReplayBuffers {
  readonly #logs = new Set<ReplayBuffer>()
  readonly #maxBytes: number
  #bytes = 0
  #age = 0

  constructor(maxBytes = ALL_BYTES) {
    this.#maxBytes = maxBytes
  }

  open(): ReplayBuffer {
    return new ReplayBuffer(this)
  }

  nextAge(): number {
    this.#age += 1
    return this.#age
  }

  /** Drops the oldest events of all sessions at the limit. */
  grew(log: ReplayBuffer, bytes: number): void {
    this.#logs.add(log)
    this.#bytes += bytes
    while (this.#bytes > this.#maxBytes) {
      let oldest = log
      for (const each of this.#logs) if (each.oldest < oldest.oldest) oldest = each
      oldest.dropOldest()
    }
  }

  shrank(bytes: number): void {
    this.#bytes -= bytes
  }

  closed(log: ReplayBuffer): void {
    this.#logs.delete(log)
  }
}

/** The last events of a session, for a client that reconnects. */
export class ReplayBuffer {
  readonly #all: ReplayBuffers
  readonly #events: Kept[] = []
  #bytes = 0
  #number = 0

  constructor(all: ReplayBuffers) {
    this.#all = all
  }

  get oldest(): number {
    return this.#events[0]?.age ?? Number.POSITIVE_INFINITY
  }

  /** A number that is unique in the session. */
  next(): number {
    this.#number += 1
    return this.#number
  }

  keep(stream: number, number: number, data: Buffer): void {
    if (data.length > SESSION_BYTES) return
    this.#events.push({ stream, number, data, age: this.#all.nextAge() })
    this.#bytes += data.length
    this.#all.grew(this, data.length)
    while (this.#events.length > MAX_EVENTS || this.#bytes > SESSION_BYTES) this.dropOldest()
  }

  has(stream: number, number: number): boolean {
    return this.#events.some((kept) => kept.number === number && kept.stream === stream)
  }

  /** The events of a stream after the given one, as far as they are kept. */
  after(stream: number, number: number): Buffer[] {
    return this.#events
      .filter((kept) => kept.stream === stream && kept.number > number)
      .map(({ data }) => data)
  }

  dropOldest(): void {
    const dropped = this.#events.shift()?.data.length ?? 0
    this.#bytes -= dropped
    this.#all.shrank(dropped)
  }

  close(): void {
    this.#events.length = 0
    this.#all.shrank(this.#bytes)
    this.#bytes = 0
    this.#all.closed(this)
  }
}
