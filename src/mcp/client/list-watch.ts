import { isMethodNotFound } from '../../protocol/call.ts'

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
const RETRY_MS = 1000

/** Keeps one list of a server up to date. Changes never cause two requests at the same time. */
export class ListWatch<T> {
  readonly #options: Options<T>
  #timer: NodeJS.Timeout | undefined
  /** Also true before the first list, which will include every change announced until then. */
  #fetching = true
  /** When the first change was announced since the last request began. */
  #changedAt: number | undefined
  #retried = false
  #closed = false

  constructor(options: Options<T>) {
    this.#options = options
  }

  /** Fetches the list now. Rejects when that fails, except when the server does not support the method. */
  async fetch(timeoutMs: number): Promise<void> {
    this.#fetching = true
    this.#changedAt = undefined
    const list = await this.#options.list(timeoutMs).catch((error: unknown) => {
      if (isMethodNotFound(error)) return this.#options.none
      this.#fetching = false
      throw error
    })
    this.#onFetched(list)
  }

  /** The server has announced a change. */
  changed(): void {
    const now = performance.now()
    this.#changedAt ??= now
    this.#retried = false
    if (!this.#fetching) this.#fetchIn(Math.min(QUIET_MS, this.#changedAt + LATEST_MS - now))
  }

  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
  }

  #fetchIn(ms: number): void {
    if (this.#closed) return
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void this.#refetch(), Math.max(0, ms))
  }

  /** When it fails, the last known list stays valid. */
  async #refetch(): Promise<void> {
    this.#fetching = true
    this.#changedAt = undefined
    const { list, timeoutMs } = this.#options
    this.#onFetched(await list(timeoutMs).catch(() => undefined))
  }

  #onFetched(list: T | undefined): void {
    this.#fetching = false
    if (this.#changedAt !== undefined) this.#fetchIn(QUIET_MS)
    else if (list === undefined && !this.#retried) {
      this.#retried = true
      this.#fetchIn(RETRY_MS)
    }
    if (list && !this.#closed) this.#options.onList(list)
  }
}
