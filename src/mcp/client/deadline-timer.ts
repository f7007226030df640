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
  readonly #requests: () => readonly Due[]
  #timer: NodeJS.Timeout | undefined
  #firesAt = NEVER

  constructor(requests: () => readonly Due[]) {
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
    const next = Math.min(...this.#requests().map(({ dueAt = NEVER }) => dueAt))
    if (next < this.#firesAt) this.#start(next)
  }
}
