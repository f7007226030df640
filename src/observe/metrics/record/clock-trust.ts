import { DAY_MS, HOUR_MS } from '../windows/levels.ts'

/** A larger difference between the two clocks is a jump. */
const JUMP_MS = 60_000
/** How long a clock must run steadily after a jump before data is deleted by it. */
const PROBATION_MS = HOUR_MS

/**
 * Whether the wall clock may decide what has expired. After it jumped, which a clock that cannot jump reveals, it is not
 * trusted for an hour. Neither is a clock that is more than a day ahead of the newest data at the start: it may be wrong,
 * or the computer was off.
 */
export class ClockTrust {
  readonly #steady: () => number
  #last: { readonly now: number; readonly steady: number }
  #trustedFrom: number

  constructor(now: number, steady: () => number, newest: number | undefined) {
    this.#steady = steady
    this.#last = { now, steady: steady() }
    const isAhead = newest !== undefined && now - newest > DAY_MS
    this.#trustedFrom = this.#last.steady + (isAhead ? PROBATION_MS : 0)
  }

  trusts(now: number): boolean {
    const steady = this.#steady()
    const expected = this.#last.now + steady - this.#last.steady
    if (Math.abs(now - expected) > JUMP_MS) this.#trustedFrom = steady + PROBATION_MS
    this.#last = { now, steady }
    return steady >= this.#trustedFrom
  }
}
