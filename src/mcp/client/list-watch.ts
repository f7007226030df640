import { isMethodNotFound } from '../protocol/call.ts'

interface Options<T> {
  readonly list: (timeoutMs: number) => Promise<T>
  /** The time limit of lists that a notification caused. */
  readonly timeoutMs: number
  /** The list of a server that does not support the method. */
  readonly none: T
  readonly onList: (list: T) => void
}

/** Servers announce several changes in a row. The list is fetched when they pause, or after a second at the latest. */
const QUIET_MS = 100
const LATEST_MS = 1000
/** A failed request is repeated after this time, which doubles with each failure. */
const RETRY_MS = 1000
const LONGEST_RETRY_MS = 60_000

/** Keeps one list of a server up to date. Changes never cause two requests at the same time. */
export class ListWatch<T> {
  readonly #options: Options<T>
  #timer: NodeJS.Timeout | undefined
  /** Also true before the first list, which will include every change announced until then. */
  #fetching = true
  /** When the first change was announced since the last request began. */
  #changedAt: number | undefined
  #failures = 0
  #isKnown = false
  #closed = false
  /** The last request. Never rejects. */
  #last: Promise<unknown> = Promise.resolve()
  /** A request that begins after the last one. */
  #next: Promise<void> | undefined
  /** Why the last request failed. Undefined when it succeeded. */
  failure: unknown

  constructor(options: Options<T>) {
    this.#options = options
  }

  /** Fetches the list now. Rejects when that fails, except when the server does not support the method. */
  async fetch(timeoutMs: number): Promise<void> {
    await this.#request(timeoutMs, this.#options.none)
    if (this.failure !== undefined) throw this.failure
  }

  /** Fetches the list after a request in progress, which may be too old. Callers at the same time share one request. */
  fetchNext(timeoutMs: number): Promise<void> {
    this.#next ??= this.#last.then(() => {
      this.#next = undefined
      return this.fetch(timeoutMs)
    })
    return this.#next
  }

  /** The server has announced a change. */
  changed(): void {
    const now = performance.now()
    this.#changedAt ??= now
    this.#failures = 0
    if (!this.#fetching) this.#fetchIn(Math.min(QUIET_MS, this.#changedAt + LATEST_MS - now))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #fetchIn(ms: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    // A list that is known stays valid when the server does not support the method any more.
    const none = () => (this.#isKnown ? undefined : this.#options.none)
    this.#timer = setTimeout(() => void this.#request(this.#options.timeoutMs, none()), Math.max(0, ms))
  }

  #request(timeoutMs: number, none: T | undefined): Promise<void> {
    this.#fetching = true
    this.#changedAt = undefined
    clearTimeout(this.#timer)
    const request = this.#options
      .list(timeoutMs)
      .catch((error: unknown) => {
        if (none !== undefined && isMethodNotFound(error)) return none
        this.failure = error
        return undefined
      })
      .then((list) => this.#onFetched(list))
    this.#last = request
    return request
  }

  /** When the request has failed, the last known list stays valid, and it is repeated. */
  #onFetched(list: T | undefined): void {
    this.#fetching = false
    if (list !== undefined) {
      this.failure = undefined
      this.#failures = 0
    }
    if (this.#changedAt !== undefined) this.#fetchIn(QUIET_MS)
    else if (list === undefined) {
      this.#fetchIn(Math.min(RETRY_MS * 2 ** this.#failures, LONGEST_RETRY_MS))
      this.#failures += 1
    }
    if (list === undefined || this.#closed) return
    this.#isKnown = true
    this.#options.onList(list)
  }
}
