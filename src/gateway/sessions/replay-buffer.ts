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
