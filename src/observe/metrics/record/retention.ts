import { DAY_MS, HOUR_MS, MINUTES_FOR_MS, SECONDS_FOR_MS } from '../metric-history.ts'
import type { MetricsStore } from '../metrics-store.ts'
import type { Series, SeriesTable } from './series-table.ts'

/** At most this share is deleted at once. */
const SHARE = 0.1
/** Counted in runs, because the clock may jump. A run takes place every ten seconds. */
const RUNS_BETWEEN = 60
/** `last_at` is stored with this precision: otherwise each flush would write every active series. */
const LAST_AT_PRECISION_MS = HOUR_MS

/** Deletes expired data: seconds after each flush; minutes, hours and inactive series every ten minutes. */
export class Retention {
  readonly #store: MetricsStore
  readonly #series: SeriesTable
  readonly #keptMs: number
  readonly #clock: ClockTrust
  #run = 0

  constructor(store: MetricsStore, series: SeriesTable, days: number, clock: ClockTrust) {
    this.#store = store
    this.#series = series
    this.#keptMs = days * DAY_MS
    this.#clock = clock
  }

  /** Returns the ids of deleted series. Deletes nothing while the clock is not trusted. */
  run(now: number): readonly number[] {
    if (!this.#clock.trusts(now)) return []
    const all = this.#run % RUNS_BETWEEN === 0
    this.#run += 1
    const seconds = now - SECONDS_FOR_MS
    if (!all) {
      this.#store.trim({ before: { seconds }, share: SHARE })
      return []
    }
    const before = { seconds, minutes: now - MINUTES_FOR_MS, hours: now - this.#keptMs - HOUR_MS }
    const serversBefore = { minutes: now - 2 * HOUR_MS, quarters: before.minutes, hours: before.hours }
    const inactive = this.#inactive(now)
    const ids = inactive.map(({ id }) => id)
    this.#store.trim({ before, serversBefore, series: ids, share: SHARE })
    for (const series of inactive) this.#series.delete(series)
    return ids
  }

  /** Series that are new, or whose stored `last_at` is outdated. */
  unsaved(): Series[] {
    const changed: Series[] = []
    for (const series of this.#series.all())
      if (series.savedAt === undefined || series.lastAt - series.savedAt > LAST_AT_PRECISION_MS)
        changed.push(series)
    return changed
  }

  /** Series without any stored event. */
  #inactive(now: number): Series[] {
    const all = [...this.#series.all()]
    const inactive = all.filter(({ lastAt }) => lastAt < now - this.#keptMs - DAY_MS)
    return inactive.slice(0, Math.ceil(all.length * SHARE))
  }
}

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
