const REPORT_EVERY_MS = 10 * 60_000
/** Fewer are not reported again: the report itself is a line that may displace another one. */
const REPORT_FROM = 100

/** Counts log lines that were lost, and reports their number: the first at once, then every ten minutes. */
export class LostLines {
  readonly #report: (lines: number, why: string) => void
  #unreported = 0
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(report: (lines: number, why: string) => void) {
    this.#report = report
  }

  add(lines: number, why: string): void {
    this.#unreported += lines
    const isFirst = this.#reportedAt === Number.NEGATIVE_INFINITY
    const isDue = performance.now() - this.#reportedAt >= REPORT_EVERY_MS
    if (!isDue || (!isFirst && this.#unreported < REPORT_FROM)) return
    this.#reportedAt = performance.now()
    const reported = this.#unreported
    this.#unreported = 0
    this.#report(reported, why)
  }
}
