import { type Block, LEVELS, type Level, type MetricsStore } from '../metrics-store.ts'
import type { Cell, Happening } from '../sketch/cell.ts'
import { Tally, unpack } from '../sketch/tally.ts'
import { floorTo, MINUTES_FOR_MS, SECONDS_FOR_MS, STEP_MS } from './levels.ts'

export type Visit = (start: number, series: number, cell: Cell) => void

/** More seconds than this wait only when the store cannot be written: then they are kept as minutes, and these as hours. */
const MOST_WAITING: Readonly<Record<Level, number>> = { seconds: 900, minutes: 2880, hours: 1000 }

/**
 * What happened, by second, minute and hour. The store holds every level up to the last flush; what came since waits
 * here, each event at the finest level that is kept for its age, and is added to the coarser ones when it is read or
 * flushed. So the levels never disagree, whenever an event comes and whatever the clock does.
 */
export class History {
  readonly #store: MetricsStore
  readonly #waiting: Readonly<Record<Level, Map<number, Tally>>> = {
    seconds: new Map(),
    minutes: new Map(),
    hours: new Map(),
  }

  constructor(store: MetricsStore) {
    this.#store = store
  }

  add(series: number, happening: Happening, now: number): void {
    const age = now - happening.ts
    const level = age < SECONDS_FOR_MS ? 'seconds' : age < MINUTES_FOR_MS ? 'minutes' : 'hours'
    this.#waitingAt(level, happening.ts).record(series, happening)
  }

  /** A whole second. The tally belongs to the history from here on. */
  addSecond(second: number, tally: Tally): void {
    const { seconds } = this.#waiting
    const known = seconds.get(second)
    if (known) known.merge(tally)
    else seconds.set(second, tally)
  }

  /** Every cell of a level from `from` on and before `to`. A start may come more than once; the cells add up. */
  visit(level: Level, from: number, to: number, visit: Visit, wanted?: (series: number) => boolean): void {
    for (const { start, bytes } of this.#store.read(level, from, to))
      unpack(bytes, start, (series, cell) => visit(start, series, cell), wanted)
    for (const each of LEVELS.slice(0, LEVELS.indexOf(level) + 1)) {
      for (const [start, { cells }] of this.#waiting[each]) {
        if (start < from || start >= to) continue
        for (const [series, cell] of cells)
          if (wanted?.(series) ?? true) visit(floorTo(start, STEP_MS[level]), series, cell)
      }
    }
  }

  /** What the store must hold so that nothing waits any more. */
  blocks(): Block[] {
    return LEVELS.flatMap((level) => {
      const starts = [...this.#sums(level)]
      return starts.flatMap(([start, tally]) =>
        [...tally.chunks()].map(([chunk, news]) => {
          const whole = new Tally()
          const stored = this.#store.one(level, start, chunk)
          if (stored) unpack(stored, start, (series, cell) => whole.cells.set(series, cell))
          whole.adopt(news) // what is stored comes first, so nothing is added to the cells that wait
          return { level, start, chunk, bytes: whole.pack(start) }
        }),
      )
    })
  }

  /** The store has what `blocks` said. */
  flushed(): void {
    for (const level of LEVELS) this.#waiting[level].clear()
  }

  /** The store cannot be written. What waits must not grow for ever: the oldest is kept more coarsely. */
  compact(): void {
    for (const [index, level] of LEVELS.entries()) {
      const waiting = this.#waiting[level]
      const above = LEVELS[index + 1]
      const tooMany = [...waiting.keys()].sort((a, b) => a - b).slice(0, -MOST_WAITING[level])
      for (const start of tooMany) {
        const tally = waiting.get(start)
        if (above && tally) this.#waitingAt(above, start).merge(tally)
        waiting.delete(start)
      }
    }
  }

  /** What waits at a level and at every finer one. */
  #sums(level: Level): ReadonlyMap<number, Tally> {
    if (level === 'seconds') return this.#waiting.seconds
    const sums = new Map<number, Tally>()
    for (const each of LEVELS.slice(0, LEVELS.indexOf(level) + 1)) {
      for (const [finer, tally] of this.#waiting[each]) {
        const start = floorTo(finer, STEP_MS[level])
        const sum = sums.get(start) ?? new Tally()
        sum.merge(tally)
        sums.set(start, sum)
      }
    }
    return sums
  }

  #waitingAt(level: Level, ts: number): Tally {
    const start = floorTo(ts, STEP_MS[level])
    const tally = this.#waiting[level].get(start) ?? new Tally()
    this.#waiting[level].set(start, tally)
    return tally
  }
}
