import type { MetricsStore } from '../metrics-store.ts'
import { DAY_MS, HOUR_MS, MINUTES_FOR_MS, SECONDS_FOR_MS } from '../windows/levels.ts'
import type { Series, SeriesTable } from './series.ts'

/** At most a tenth goes at once: a clock that jumps must not empty the store. */
const SHARE = 0.1
/** Counted in runs and not by the clock, for the same reason. A run is every ten seconds. */
const RUNS_BETWEEN = 60
/** When a series was last seen needs to be known only to the hour, or each flush would write every series. */
const SEEN_TO_MS = HOUR_MS

/** What is too old goes: seconds after each flush, minutes, hours and series that are silent now and then. */
export class Retention {
  readonly #store: MetricsStore
  readonly #series: SeriesTable
  readonly #keptMs: number
  #run = 0

  constructor(store: MetricsStore, series: SeriesTable, days: number) {
    this.#store = store
    this.#series = series
    this.#keptMs = days * DAY_MS
  }

  /** Says which series are no more. */
  run(now: number): readonly number[] {
    const all = this.#run % RUNS_BETWEEN === 0
    this.#run += 1
    const seconds = now - SECONDS_FOR_MS
    if (!all) {
      this.#store.trim({ before: { seconds }, share: SHARE })
      return []
    }
    const before = { seconds, minutes: now - MINUTES_FOR_MS, hours: now - this.#keptMs - HOUR_MS }
    const silent = this.#silent(now)
    const ids = silent.map(({ id }) => id)
    this.#store.trim({ before, series: ids, share: SHARE })
    for (const series of silent) this.#series.delete(series)
    return ids
  }

  /** New, or seen again long after it was last said so. */
  unsaved(): Series[] {
    const changed: Series[] = []
    for (const series of this.#series.all())
      if (series.savedAt === undefined || series.lastAt - series.savedAt > SEEN_TO_MS) changed.push(series)
    return changed
  }

  /** Nothing of them is kept any more. */
  #silent(now: number): Series[] {
    const all = [...this.#series.all()]
    const silent = all.filter(({ lastAt }) => lastAt < now - this.#keptMs - DAY_MS)
    return silent.slice(0, Math.ceil(all.length * SHARE))
  }
}
