import { isUnknownMethod } from './tool-list.ts'

interface Options<T> {
  readonly list: (timeoutMs: number) => Promise<T>
  /** For every list but the first. */
  readonly timeoutMs: number
  /** What a server has that does not know the question. */
  readonly none: T
  readonly onList: (list: T) => void
}

/** Servers announce several changes in a row; one list at the end is enough, unless the end does not come. */
const QUIET_MS = 100
const LATEST_MS = 1000
const RETRY_MS = 1000

/** Knows one list of a server and hears when it changes. There is never more than one question under way. */
export class ListWatch<T> {
  readonly #options: Options<T>
  #timer: NodeJS.Timeout | undefined
  /** Also before the first list: what changes until then is in it. */
  #listing = true
  /** The first announcement since the last list began. */
  #changedAt: number | undefined
  #retried = false
  #closed = false

  constructor(options: Options<T>) {
    this.#options = options
  }

  /** Rejects when there is no list. A server that does not know the question has nothing. */
  async first(timeoutMs: number): Promise<void> {
    this.#changedAt = undefined
    const list = await this.#options.list(timeoutMs).catch((error: unknown) => {
      if (isUnknownMethod(error)) return this.#options.none
      throw error
    })
    this.#done(list)
  }

  changed(): void {
    const now = performance.now()
    this.#changedAt ??= now
    this.#retried = false
    if (!this.#listing) this.#listIn(Math.min(QUIET_MS, this.#changedAt + LATEST_MS - now))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #listIn(ms: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#again(), Math.max(0, ms))
  }

  async #again(): Promise<void> {
    this.#listing = true
    this.#changedAt = undefined
    const { list, timeoutMs } = this.#options
    this.#done(await list(timeoutMs).catch(() => undefined)) // it stays as it was known
  }

  #done(list: T | undefined): void {
    this.#listing = false
    if (this.#changedAt !== undefined) this.#listIn(QUIET_MS)
    else if (list === undefined && !this.#retried) {
      this.#retried = true
      this.#listIn(RETRY_MS)
    }
    if (list && !this.#closed) this.#options.onList(list)
  }
}
