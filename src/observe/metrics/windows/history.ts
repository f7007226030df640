import { type Block, LEVELS, type Level, type MetricsStore } from '../metrics-store.ts'
import type { Cell, Sample } from '../sketch/cell.ts'
import { Tally, unpack } from '../sketch/tally.ts'
import { floorTo, MINUTES_FOR_MS, SECONDS_FOR_MS, STEP_MS } from './levels.ts'

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
