/** Counts dropped notifications. Reports the first at once, and the others as one sum per interval. */
export class DropCounter {
  readonly #intervalMs: number
  readonly #report: (count: number) => void
  #count = 0
  #interval: NodeJS.Timeout | undefined

  constructor(intervalMs: number, report: (count: number) => void) {
    this.#intervalMs = intervalMs
    this.#report = report
  }

  add(): void {
    this.#count += 1
    if (!this.#interval) this.#flush()
  }

  #flush(): void {
    this.#interval = undefined
    if (this.#count === 0) return
    this.#report(this.#count)
    this.#count = 0
    this.#interval = setTimeout(() => this.#flush(), this.#intervalMs).unref()
  }
}
