/**
 * Pending requests by id, in insertion order: a map for thousands of short-lived entries of which few exist at a time. With
 * a Map, a call leaves 800 to 1,500 bytes for a full garbage collection instead of less than 300
 * (`test/e2e/gateway-cost.test.ts`), although a Map is seven times faster at 1,000 entries.
 */
export class InFlight<K, V> {
  readonly #ids: K[] = []
  readonly #values: V[] = []

  get size(): number {
    return this.#ids.length
  }

  get(id: K): V | undefined {
    return this.#values[this.#ids.indexOf(id)]
  }

  has(id: K): boolean {
    return this.#ids.includes(id)
  }

  /** The id must not be in use. */
  add(id: K, value: V): void {
    this.#ids.push(id)
    this.#values.push(value)
  }

  delete(id: K): boolean {
    const at = this.#ids.indexOf(id)
    if (at < 0) return false
    this.#ids.splice(at, 1)
    this.#values.splice(at, 1)
    return true
  }

  /** A copy, because handling a value may delete it. */
  values(): V[] {
    return [...this.#values]
  }
}

interface Due {
  /** By `performance.now()`. Infinity: it has none now. Undefined once the request has settled. */
  dueAt: number | undefined
  readonly onDeadline: () => void
}

const LONGEST_TIMER_MS = 2 ** 31 - 1
const NEVER = Number.POSITIVE_INFINITY

/**
 * The deadlines of all requests of one connection share a timer, which is set for the earliest one. It stays when that
 * request has settled, so that most requests neither set nor clear a timer.
 */
export class DeadlineTimer {
  /** The pending requests. */
  readonly #requests: () => Iterable<Due>
  #timer: NodeJS.Timeout | undefined
  #firesAt = NEVER

  constructor(requests: () => Iterable<Due>) {
    this.#requests = requests
  }

  set(request: Due, ms: number): void {
    const dueAt = performance.now() + ms
    request.dueAt = dueAt
    if (dueAt < this.#firesAt) this.#start(dueAt)
  }

  clear(): void {
    clearTimeout(this.#timer)
    this.#firesAt = NEVER
  }

  #start(dueAt: number): void {
    clearTimeout(this.#timer)
    const ms = Math.min(Math.ceil(dueAt - performance.now()), LONGEST_TIMER_MS)
    this.#timer = setTimeout(() => this.#check(), ms).unref()
    this.#firesAt = dueAt
  }

  #check(): void {
    this.#firesAt = NEVER
    const now = performance.now()
    for (const { dueAt = NEVER, onDeadline } of this.#requests()) if (dueAt <= now) onDeadline()
    let next = NEVER
    for (const { dueAt = NEVER } of this.#requests()) next = Math.min(next, dueAt)
    if (next < this.#firesAt) this.#start(next)
  }
}

interface Timed {
  readonly timeoutMs: number | null
  /** By `performance.now()`. Infinity: it has none now. Undefined once the request has settled. */
  dueAt: number | undefined
}

/** Each progress notification restarts the timeout. In total a request gets at most ten times its timeout. */
const MAX_EXTENSIONS = 10
/** The total pause of one request. */
const MAX_PAUSED_MS = 3_600_000

/**
 * Extends the deadline of one request: progress restarts it, and it is paused while the caller answers a request of the
 * server, because then the server is not the slow side. Created on demand, since most requests need no extension.
 */
export class RequestDeadline {
  readonly #request: Timed
  readonly #onDeadline: () => void
  /** After this moment progress no longer extends the deadline. */
  readonly #progressEndsAt: number
  #pauses = 0
  #pausedAt = 0
  #pausedMs = 0
  /** Paused time that has not been added to the deadline yet. */
  #creditMs = 0
  /** The deadline was reached during a pause. */
  #isDue = false

  constructor(request: Timed, onDeadline: () => void) {
    this.#request = request
    this.#onDeadline = onDeadline
    this.#progressEndsAt = performance.now() + (request.timeoutMs ?? 0) * (MAX_EXTENSIONS - 2)
  }

  onProgress(): void {
    const { dueAt, timeoutMs } = this.#request
    const now = performance.now()
    if (dueAt === undefined || timeoutMs === null || this.#isDue || now >= this.#progressEndsAt) return
    this.#request.dueAt = now + timeoutMs
  }

  pause(): void {
    this.#pauses += 1
    if (this.#pauses === 1) this.#pausedAt = performance.now()
  }

  resume(): void {
    this.#pauses -= 1
    if (this.#pauses > 0) return
    if (!this.#isDue) this.#credit()
    else if (this.#request.dueAt !== undefined) this.#onDeadline()
    this.#isDue = false
  }

  /** Called at the deadline: the time that is left. Undefined when the deadline has passed, 0 during a pause. */
  extraMs(): number | undefined {
    if (this.#pauses > 0) {
      this.#credit()
      this.#isDue = true
      return 0
    }
    const extraMs = this.#creditMs
    this.#creditMs = 0
    return extraMs > 0 ? extraMs : undefined
  }

  #credit(): void {
    const ms = performance.now() - this.#pausedAt
    if (this.#pausedMs < MAX_PAUSED_MS) this.#creditMs += ms
    this.#pausedMs += ms
  }
}
