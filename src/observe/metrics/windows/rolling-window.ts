import { Tally } from '../sketch/tally.ts'
import type { History } from './history.ts'
import { ceilTo, floorTo, HOUR_MS, STEP_MS, WINDOW, type WindowName } from './levels.ts'

/**
 * The sum of a window that moves with time: of exactly the cells of the history from its start to its end, which is the
 * end of the current period. When time passes, the cells that enter are added and those that leave are subtracted, so
 * that the cost of a query does not depend on the number of events. When the clock moves back, or a subtraction fails,
 * the sum is computed again.
 */
export class RollingWindow {
  readonly #history: History
  readonly #name: WindowName
  readonly #keptMs: number
  #sum: Tally | undefined
  #from = 0
  /** Exclusive. Later cells exist after the clock has moved back. */
  #end = 0

  constructor(history: History, name: WindowName, keptMs: number) {
    this.#history = history
    this.#name = name
    this.#keptMs = keptMs
  }

  /** The sum of all events in the window. */
  at(now: number): { readonly from: number; readonly tally: Tally } {
    const { ms, level } = WINDOW[this.#name]
    const from = ceilTo(now - Math.min(ms, this.#keptMs), STEP_MS[level])
    const end = floorTo(now, STEP_MS[level]) + STEP_MS[level]
    const moved = from - this.#from
    const mayBeDeleted = moved > 0 && this.#keptMs < 2 * ms // the events to subtract may not be stored any more
    const isBack = moved < 0 || end < this.#end
    if (moved > ms / 2 || isBack || mayBeDeleted) this.#sum = undefined
    if (this.#sum && !this.#moveTo(this.#sum, from, end)) this.#sum = undefined
    this.#sum ??= this.#compute(from, end)
    this.#from = from
    this.#end = end
    return { from, tally: this.#sum }
  }

  /** The sum, if it exists already and its window includes `ts`. */
  including(ts: number): Tally | undefined {
    return ts >= this.#from && ts < this.#end ? this.#sum : undefined
  }

  /** Returns false when a cell that leaves the window is not part of the sum. */
  #moveTo(sum: Tally, from: number, end: number): boolean {
    const { level } = WINDOW[this.#name]
    let fits = true
    if (from > this.#from)
      this.#history.visit(level, this.#from, from, (_, series, cell) => {
        fits = fits && sum.subtractCell(series, cell)
      })
    if (fits && end > this.#end)
      this.#history.visit(level, this.#end, end, (_, series, cell) => sum.mergeCell(series, cell))
    return fits
  }

  /** Reads a day as hours, with minutes at both ends. */
  #compute(from: number, end: number): Tally {
    const { level } = WINDOW[this.#name]
    const sum = new Tally()
    const add = (_: number, series: number, cell: Parameters<Tally['mergeCell']>[1]) =>
      sum.mergeCell(series, cell)
    const [first, last] = [ceilTo(from, HOUR_MS), floorTo(end, HOUR_MS)]
    if (level === 'minutes' && first < last) {
      this.#history.visit('minutes', from, first, add)
      this.#history.visit('hours', first, last, add)
      this.#history.visit('minutes', last, end, add)
    } else this.#history.visit(level, from, end, add)
    return sum
  }
}
