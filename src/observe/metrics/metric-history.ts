import { type Block, LEVELS, type Level, type MetricsStore } from './metrics-store.ts'
import { type Cell, type Sample, Tally, unpack } from './sketch/metric-cells.ts'

export type Visit = (start: number, series: number, cell: Cell) => void

/** Exceeded only while the store fails: older seconds are then merged into minutes, and minutes into hours. */
const MAX_PENDING: Readonly<Record<Level, number>> = { seconds: 900, minutes: 2880, hours: 1000 }

/**
 * Tallies by second, minute and hour. The store has every level up to the last flush. Newer events are pending here, at
 * the finest level kept for their age, and are added to the coarser levels when these are read or flushed. So the
 * levels stay consistent for late events and clock changes.
 */
export class History {
  readonly #store: MetricsStore
  readonly #pending: Readonly<Record<Level, Map<number, Tally>>> = {
    seconds: new Map(),
    minutes: new Map(),
    hours: new Map(),
  }

  constructor(store: MetricsStore) {
    this.#store = store
  }

  add(series: number, sample: Sample, now: number): void {
    const age = now - sample.ts
    const level = age < SECONDS_FOR_MS ? 'seconds' : age < MINUTES_FOR_MS ? 'minutes' : 'hours'
    this.#pendingAt(level, sample.ts).record(series, sample)
  }

  /** Adds a whole second. The caller must not use the tally afterwards. */
  addSecond(second: number, tally: Tally): void {
    const { seconds } = this.#pending
    const pending = seconds.get(second)
    if (pending) pending.merge(tally)
    else seconds.set(second, tally)
  }

  /** Visits every cell of a level from `from` to before `to`. A start may be visited several times; its cells add up. */
  visit(
    level: Level,
    from: number,
    to: number,
    visit: Visit,
    isSelected?: (series: number) => boolean,
  ): void {
    for (const { start, bytes } of this.#store.read(level, from, to))
      unpack(bytes, start, (series, cell) => visit(start, series, cell), isSelected)
    for (const each of LEVELS.slice(0, LEVELS.indexOf(level) + 1)) {
      for (const [start, { cells }] of this.#pending[each]) {
        if (start < from || start >= to) continue
        for (const [series, cell] of cells)
          if (isSelected?.(series) ?? true) visit(floorTo(start, STEP_MS[level]), series, cell)
      }
    }
  }

  /** The blocks to save, which include all pending cells. */
  blocks(): Block[] {
    return LEVELS.flatMap((level) => {
      const starts = [...this.#sums(level)]
      return starts.flatMap(([start, tally]) =>
        [...tally.chunks()].map(([chunk, added]) => {
          const whole = new Tally()
          const stored = this.#store.one(level, start, chunk)
          if (stored) unpack(stored, start, (series, cell) => whole.cells.set(series, cell))
          whole.adopt(added) // after the stored cells, so that pending cells are not changed
          return { level, start, chunk, bytes: whole.pack(start) }
        }),
      )
    })
  }

  /** Call after the store has saved `blocks()`. */
  flushed(): void {
    for (const level of LEVELS) this.#pending[level].clear()
  }

  /** Limits memory while the store fails: merges the oldest pending tallies into coarser ones. */
  compact(): void {
    for (const [index, level] of LEVELS.entries()) {
      const pending = this.#pending[level]
      const coarser = LEVELS[index + 1]
      const tooMany = [...pending.keys()].sort((a, b) => a - b).slice(0, -MAX_PENDING[level])
      for (const start of tooMany) {
        const tally = pending.get(start)
        if (coarser && tally) this.#pendingAt(coarser, start).merge(tally)
        pending.delete(start)
      }
    }
  }

  /** Pending tallies of a level and of all finer levels. */
  #sums(level: Level): ReadonlyMap<number, Tally> {
    if (level === 'seconds') return this.#pending.seconds
    const sums = new Map<number, Tally>()
    for (const each of LEVELS.slice(0, LEVELS.indexOf(level) + 1)) {
      for (const [finer, tally] of this.#pending[each]) {
        const start = floorTo(finer, STEP_MS[level])
        const sum = sums.get(start) ?? new Tally()
        sum.merge(tally)
        sums.set(start, sum)
      }
    }
    return sums
  }

  #pendingAt(level: Level, ts: number): Tally {
    const start = floorTo(ts, STEP_MS[level])
    const tally = this.#pending[level].get(start) ?? new Tally()
    this.#pending[level].set(start, tally)
    return tally
  }
}

const MINUTE_MS = 60_000
export const HOUR_MS = 3_600_000
export const DAY_MS = 24 * HOUR_MS

export const STEP_MS: Readonly<Record<Level, number>> = { seconds: 1000, minutes: MINUTE_MS, hours: HOUR_MS }

/** How long seconds and minutes are kept; the retention of hours is a setting. */
export const SECONDS_FOR_MS = 15 * MINUTE_MS
export const MINUTES_FOR_MS = 48 * HOUR_MS

export const WINDOWS = ['5m', '1h', '24h', '7d'] as const
export type WindowName = (typeof WINDOWS)[number]

/** `level` is the finest one that is kept for the whole window. */
export const WINDOW: Readonly<Record<WindowName, { readonly ms: number; readonly level: Level }>> = {
  '5m': { ms: 5 * MINUTE_MS, level: 'seconds' },
  '1h': { ms: HOUR_MS, level: 'minutes' },
  '24h': { ms: DAY_MS, level: 'minutes' },
  '7d': { ms: 7 * DAY_MS, level: 'hours' },
}

export const floorTo = (ts: number, step: number): number => Math.floor(ts / step) * step
export const ceilTo = (ts: number, step: number): number => Math.ceil(ts / step) * step

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
