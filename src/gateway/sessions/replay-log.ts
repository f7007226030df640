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
export class ReplayLogs {
  readonly #logs = new Set<ReplayLog>()
  readonly #maxBytes: number
  #bytes = 0
  #age = 0

  constructor(maxBytes = ALL_BYTES) {
    this.#maxBytes = maxBytes
  }

  open(): ReplayLog {
    const log = new ReplayLog({
      age: () => {
        this.#age += 1
        return this.#age
      },
      grew: (bytes) => this.#grew(log, bytes),
      shrank: (bytes) => {
        this.#bytes -= bytes
      },
      closed: () => void this.#logs.delete(log),
    })
    return log
  }

  /** Drops the oldest events of all sessions. */
  #grew(log: ReplayLog, bytes: number): void {
    this.#logs.add(log)
    this.#bytes += bytes
    while (this.#bytes > this.#maxBytes) {
      let oldest: ReplayLog = log
      for (const each of this.#logs) if (each.oldest < oldest.oldest) oldest = each
      oldest.dropOldest()
    }
  }
}

interface Shared {
  age(): number
  grew(bytes: number): void
  shrank(bytes: number): void
  closed(): void
}

/** The last events of a session, for a client that reconnects. */
export class ReplayLog {
  readonly #shared: Shared
  readonly #events: Kept[] = []
  #bytes = 0
  #number = 0

  constructor(shared: Shared) {
    this.#shared = shared
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
    this.#events.push({ stream, number, data, age: this.#shared.age() })
    this.#bytes += data.length
    this.#shared.grew(data.length)
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
    this.#shared.shrank(dropped)
  }

  close(): void {
    this.#events.length = 0
    this.#shared.shrank(this.#bytes)
    this.#bytes = 0
    this.#shared.closed()
  }
}
