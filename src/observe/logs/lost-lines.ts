const REPORT_EVERY_MS = 10 * 60_000
/** Fewer are not reported again before the end: the report itself is a line that may displace another one. */
const REPORT_FROM = 100

/**
 * Counts log lines that were lost, a repeated line as often as it was written, and reports their number: the first at
 * once, then every ten minutes, and the rest at the end.
 */
export class LostLines {
  readonly #report: (lines: number, why: string) => void
  readonly #clock: () => number
  #unreported = 0
  #why = ''
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(report: (lines: number, why: string) => void, clock = () => performance.now()) {
    this.#report = report
    this.#clock = clock
  }

  add(lines: number, why: string): void {
    this.#unreported += lines
    this.#why = why
    const isFirst = this.#reportedAt === Number.NEGATIVE_INFINITY
    const isDue = this.#clock() - this.#reportedAt >= REPORT_EVERY_MS
    if (isDue && (isFirst || this.#unreported >= REPORT_FROM)) this.flush()
  }

  /** Reports what is not reported yet. */
  flush(): void {
    if (this.#unreported === 0) return
    const lines = this.#unreported
    this.#unreported = 0
    this.#reportedAt = this.#clock()
    this.#report(lines, this.#why)
  }
}
