import type { ClockTrust } from '../../../kernel/time.ts'
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
