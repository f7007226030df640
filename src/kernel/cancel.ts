/** What is used of an AbortSignal. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(kind: 'abort', listener: () => void, options: { readonly once: true }): void
  removeEventListener(kind: 'abort', listener: () => void): void
}

/** An AbortController with its signal, for paths where every call needs one: a fortieth of its price. */
export class Cancellation implements CancelSignal {
  readonly #listeners = new Set<() => void>()
  #aborted = false

  get aborted(): boolean {
    return this.#aborted
  }

  addEventListener(_: 'abort', listener: () => void): void {
    this.#listeners.add(listener)
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    this.#listeners.delete(listener)
  }

  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    const listeners = [...this.#listeners]
    this.#listeners.clear()
    for (const listener of listeners) listener()
  }
}
