/** What is needed of the request that waits. */
interface Waiting {
  readonly timeoutMs: number | null
  /** Undefined when it does not wait, or no longer. */
  timer: NodeJS.Timeout | undefined
}

/** Progress begins the time anew, but not for ever: in all it is ten times what it was. */
const MOST_TIMES = 10
/** Of all questions of one request together. */
const ASKED_MS = 3_600_000

/**
 * More time for a request. While its caller is asked something the clock stands still: it is not the server that lets us wait.
 * Made only when there is a reason, for most requests have none.
 */
export class Patience {
  readonly #waiting: Waiting
  readonly #onDeadline: () => void
  /** When progress helps no more. */
  readonly #end: number
  #questions = 0
  #askedSince = 0
  #askedMs = 0
  /** Of the time that has run, what did not count. */
  #creditMs = 0
  #isDue = false

  constructor(waiting: Waiting, onDeadline: () => void) {
    this.#waiting = waiting
    this.#onDeadline = onDeadline
    this.#end = performance.now() + (waiting.timeoutMs ?? 0) * (MOST_TIMES - 2)
  }

  progressed(): void {
    if (!this.#isDue && performance.now() < this.#end) this.#waiting.timer?.refresh()
  }

  asked(): void {
    this.#questions += 1
    if (this.#questions === 1) this.#askedSince = performance.now()
  }

  answered(): void {
    this.#questions -= 1
    if (this.#questions > 0) return
    if (!this.#isDue) this.#credit()
    else if (this.#waiting.timer) this.#onDeadline()
    this.#isDue = false
  }

  /** At the deadline: how long it may still wait. Undefined when it is really over, 0 while the caller is asked. */
  more(): number | undefined {
    if (this.#questions > 0) {
      this.#credit()
      this.#isDue = true
      return 0
    }
    const more = this.#creditMs
    this.#creditMs = 0
    return more > 0 ? more : undefined
  }

  #credit(): void {
    const ms = performance.now() - this.#askedSince
    if (this.#askedMs < ASKED_MS) this.#creditMs += ms
    this.#askedMs += ms
  }
}
