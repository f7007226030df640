/** Closes resources in reverse order. Each is registered in the line that opens it. */
export class Closer {
  readonly #steps: { readonly name: string; readonly close: () => unknown }[] = []
  readonly #onError: (name: string, error: unknown) => void
  #closing: Promise<void> | undefined

  constructor(onError: (name: string, error: unknown) => void) {
    this.#onError = onError
  }

  add(name: string, close: () => unknown): void {
    this.#steps.push({ name, close })
  }

  /** May be called twice: both calls wait for the same end. A step that fails does not stop the next ones. */
  close(): Promise<void> {
    this.#closing ??= this.#closeAll()
    return this.#closing
  }

  async #closeAll(): Promise<void> {
    for (let step = this.#steps.pop(); step; step = this.#steps.pop()) {
      try {
        await step.close()
      } catch (error) {
        this.#onError(step.name, error)
      }
    }
  }
}
