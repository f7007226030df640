import { Tally } from '../sketch/tally.ts'
import type { History } from './history.ts'
import { ceilTo, floorTo, HOUR_MS, STEP_MS, WINDOW, type WindowName } from './levels.ts'

/** A clock that is put back by less than this makes the window a little short, and nothing else. */
const PATIENCE_MS = 5 * 60_000

/**
 * The sum of a window that moves with time. What comes is added, what has become too old is taken away again, so that
 * asking costs the same however much has happened. When the two do not fit together the sum is made anew.
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

  /** Everything the history knows, from the beginning of the window on. */
  at(now: number): { readonly from: number; readonly tally: Tally } {
    const { ms, level } = WINDOW[this.#name]
    const from = ceilTo(now - Math.min(ms, this.#keptMs), STEP_MS[level])
    const moved = from - this.#from
    const mayBeGone = moved > 0 && this.#keptMs < 2 * ms // what is to be taken away may not be stored any more
    if (moved > ms / 2 || moved < -PATIENCE_MS || mayBeGone) this.#sum = undefined
    if (this.#sum && moved > 0 && !this.#forget(from)) this.#sum = undefined
    this.#sum ??= this.#make(from, now)
    return { from: this.#from, tally: this.#sum }
  }

  /** The window that what happened at `ts` belongs to, unless nobody has asked for it yet. */
  holding(ts: number): Tally | undefined {
    return ts >= this.#from ? this.#sum : undefined
  }

  #forget(from: number): boolean {
    const sum = this.#sum
    let fits = true
    this.#history.visit(WINDOW[this.#name].level, this.#from, from, (_, series, cell) => {
      fits = fits && sum?.subtractCell(series, cell) === true
    })
    this.#from = from
    return fits
  }

  /** A day is made of its hours and, at both ends, of minutes. */
  #make(from: number, now: number): Tally {
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
