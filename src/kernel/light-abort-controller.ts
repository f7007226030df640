/** The part of AbortSignal that callers use. */
export interface CancelSignal {
  readonly aborted: boolean
  addEventListener(kind: 'abort', listener: () => void, options: { readonly once: true }): void
  removeEventListener(kind: 'abort', listener: () => void): void
}

/** An AbortController and its signal in one object, at a fortieth of the cost. For hot paths that need one per call. */
export class Cancellation implements CancelSignal {
  #listeners: (() => void)[] | undefined
  #aborted = false

  get aborted(): boolean {
    return this.#aborted
  }

  addEventListener(_: 'abort', listener: () => void): void {
    if (this.#listeners) this.#listeners.push(listener)
    else this.#listeners = [listener]
  }

  removeEventListener(_: 'abort', listener: () => void): void {
    const at = this.#listeners?.indexOf(listener) ?? -1
    if (at >= 0) this.#listeners?.splice(at, 1)
  }

  abort(): void {
    if (this.#aborted) return
    this.#aborted = true
    const listeners = this.#listeners ?? []
    this.#listeners = undefined
    for (const listener of listeners) listener()
  }
}
