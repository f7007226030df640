/** Runs work with the same key one after the other, in order. Different keys do not wait for each other. */
export class KeyedQueue {
  readonly #last = new Map<string, Promise<unknown>>()

  take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key) ?? Promise.resolve()
    const turn = before.then(work)
    const over = turn
      .catch(() => {}) // handled by the caller of `take`
      .then(() => {
        if (this.#last.get(key) === over) this.#last.delete(key)
      })
    this.#last.set(key, over)
    return turn
  }

  /** Waits for the turn, and returns what ends it. */
  enter(key: string): Promise<() => void> {
    return new Promise((begin) => {
      void this.take(key, () => new Promise<void>((end) => begin(end)))
    })
  }
}
