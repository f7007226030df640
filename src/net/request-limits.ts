/** What may end a request before it is done: its deadlines, and whoever made it. */
export class Limits {
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: (reason: Error) => void

  constructor(signal: AbortSignal | undefined, onEnd: (reason: Error) => void) {
    this.#signal = signal
    this.#onEnd = onEnd
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Ends it after so long, unless the function that is given back is called first. Null is never. */
  after(ms: number | null, failure: () => Error): () => void {
    if (ms === null) return () => {}
    const timer = setTimeout(() => this.#onEnd(failure()), Math.max(0, ms))
    this.#timers.add(timer)
    return () => clearTimeout(timer)
  }

  lift(): void {
    for (const timer of this.#timers) clearTimeout(timer)
    this.#signal?.removeEventListener('abort', this.#onAbort)
  }

  readonly #onAbort = () => this.#onEnd(this.#signal?.reason)
}
