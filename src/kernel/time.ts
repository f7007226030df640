import { uptime } from 'node:os'

/** ISO-8601 UTC with milliseconds, the format of every time in the API. */
export const isoTime = (ms: number): string => new Date(ms).toISOString()

/** The two clocks are not read in the same instant. */
const CLOCKS_DIFFER_MS = 1000

/**
 * The system time of a future moment on the monotonic clock. Returns the time that was announced before, unless the
 * system time has been changed since.
 */
export function systemTimeOf(monotonic: number, announced: number, now: number): number {
  const time = Math.round(now + monotonic - performance.now())
  return Math.abs(time - announced) < CLOCKS_DIFFER_MS ? announced : time
}

const DAY_MS = 24 * 3_600_000
/** A larger difference between the two clocks is a jump. */
const JUMP_MS = 60_000

/** A clock that cannot jump, and that goes on while the computer sleeps. */
export const sinceBoot = (): number => uptime() * 1000

/**
 * Whether the wall clock may decide what has expired. After it jumped, which a clock that cannot jump reveals, it is not
 * trusted before it has run steadily for a day. Neither is a clock that is more than a day ahead of the newest data at the
 * start: it may be wrong, or the computer was off. A later start trusts it, if there is data of its time by then.
 */
export class ClockTrust {
  readonly #steady: () => number
  #last: { readonly now: number; readonly steady: number }
  #trustedFrom: number

  constructor(now: number, steady: () => number, newest: number | undefined) {
    this.#steady = steady
    this.#last = { now, steady: steady() }
    const isAhead = newest !== undefined && now - newest > DAY_MS
    this.#trustedFrom = this.#last.steady + (isAhead ? DAY_MS : 0)
  }

  trusts(now: number): boolean {
    const steady = this.#steady()
    const expected = this.#last.now + steady - this.#last.steady
    if (Math.abs(now - expected) > JUMP_MS) this.#trustedFrom = steady + DAY_MS
    this.#last = { now, steady }
    return steady >= this.#trustedFrom
  }
}
