import { Tally } from '../sketch/tally.ts'
import type { History } from './history.ts'
import { ceilTo, floorTo, HOUR_MS, STEP_MS, WINDOW, type WindowName } from './levels.ts'

/** When the clock moves back by less than this, the window is only slightly too short. */
const MAX_BACKWARDS_MS = 5 * 60_000

/**
 * The sum of a window that moves with time. New events are added and expired ones subtracted, so that the cost of a
 * query does not depend on the number of events. When a subtraction fails, the sum is computed again.
 */
export class RollingWindow {
  readonly #history: History
  readonly #name: WindowName
  readonly #keptMs: number
  #sum: Tally | undefined
  #from = 0

  constructor(history: History, name: WindowName, keptMs: number) {
    this.#history = history
    this.#name = name
    this.#keptMs = keptMs
  }

  /** The sum of all events since the start of the window. */
  at(now: number): { readonly from: number; readonly tally: Tally } {
    const { ms, level } = WINDOW[this.#name]
    const from = ceilTo(now - Math.min(ms, this.#keptMs), STEP_MS[level])
    const moved = from - this.#from
    const mayBeDeleted = moved > 0 && this.#keptMs < 2 * ms // the events to subtract may not be stored any more
    if (moved > ms / 2 || moved < -MAX_BACKWARDS_MS || mayBeDeleted) this.#sum = undefined
    if (this.#sum && moved > 0 && !this.#subtractUntil(from)) this.#sum = undefined
    this.#sum ??= this.#compute(from, now)
    return { from: this.#from, tally: this.#sum }
  }

  /** The sum, if it exists already and its window includes `ts`. */
  including(ts: number): Tally | undefined {
    return ts >= this.#from ? this.#sum : undefined
  }

  #subtractUntil(from: number): boolean {
    const sum = this.#sum
    let fits = true
    this.#history.visit(WINDOW[this.#name].level, this.#from, from, (_, series, cell) => {
      fits = fits && sum?.subtractCell(series, cell) === true
    })
    this.#from = from
    return fits
  }

  /** Reads a day as hours, with minutes at both ends. */
  #compute(from: number, now: number): Tally {
    const { level } = WINDOW[this.#name]
    const sum = new Tally()
    const add = (_: number, series: number, cell: Parameters<Tally['mergeCell']>[1]) =>
      sum.mergeCell(series, cell)
    const end = floorTo(now, 1000) + 1000
    const [first, last] = [ceilTo(from, HOUR_MS), floorTo(now, HOUR_MS)]
    if (level === 'minutes' && first < last) {
      this.#history.visit('minutes', from, first, add)
      this.#history.visit('hours', first, last, add)
      this.#history.visit('minutes', last, end, add)
    } else this.#history.visit(level, from, end, add)
    this.#from = from
    return sum
  }
}
