/** Deadlines and the abort signal of one request. `onEnd` is called when one of them ends it. */
export class Limits {
  readonly #timers = new Set<NodeJS.Timeout>()
  readonly #signal: AbortSignal | undefined
  readonly #onEnd: (reason: Error) => void

  constructor(signal: AbortSignal | undefined, onEnd: (reason: Error) => void) {
    this.#signal = signal
    this.#onEnd = onEnd
    signal?.addEventListener('abort', this.#onAbort, { once: true })
  }

  /** Ends the request after `ms`, unless the returned function is called first. Null: no deadline. */
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
