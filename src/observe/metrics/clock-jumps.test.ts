import fc from 'fast-check'
import { expect, test } from 'vitest'
import { event, NOON, openRecorder, ownClock } from '../../../test/support/metrics.ts'
import { STEP_MS, WINDOW, WINDOWS, type WindowName } from './metric-history.ts'
import { timeseriesOf } from './query/timeseries.ts'
import type { Recorder } from './record/recorder.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const count = (recorder: Recorder, window: WindowName) =>
  [...recorder.window(window).tally.cells.values()].reduce((sum, cell) => sum + cell.count, 0)
const counts = (recorder: Recorder) => WINDOWS.map((window) => count(recorder, window))
const inTimeseries = (recorder: Recorder, now: number) =>
  WINDOWS.map((window) =>
    timeseriesOf(recorder, { window, step: `1${WINDOW[window].level[0]}` }, now).points.reduce(
      (sum, { calls }) => sum + calls,
      0,
    ),
  )

test('a clock that goes two hours back for 0.3 s leaves all 100 calls in every window, as in the time series', () => {
  const clock = ownClock()
  const { recorder } = openRecorder(clock)
  for (let n = 0; n < 100; n += 1) {
    clock.pass(10)
    recorder.record([event({ ts: clock.now() })])
  }
  expect(counts(recorder)).toEqual([100, 100, 100, 100])
  clock.jump(-2 * HOUR)
  clock.pass(300)
  expect(counts(recorder)).toEqual(inTimeseries(recorder, clock.now()))
  clock.jump(2 * HOUR)
  expect(counts(recorder)).toEqual([100, 100, 100, 100])
  expect(inTimeseries(recorder, clock.now())).toEqual([100, 100, 100, 100])
})

test('a clock that goes 365 days ahead for an hour and back has deleted no second, minute or hour', () => {
  const clock = ownClock()
  const { recorder, store } = openRecorder(clock)
  for (let n = 0; n < 100; n += 1) {
    clock.pass(1000)
    recorder.record([event({ ts: clock.now() })])
  }
  recorder.flush()
  const rows = () =>
    (['seconds', 'minutes', 'hours'] as const).map((level) => store.read(level, 0, Infinity).length)
  const before = rows()
  clock.jump(365 * DAY)
  for (let run = 0; run < 359; run += 1) {
    clock.pass(10_000)
    recorder.flush()
  }
  clock.jump(-365 * DAY - 359 * 10_000)
  recorder.flush()
  expect(rows()).toEqual(before)
  expect(counts(recorder)).toEqual([100, 100, 100, 100])
})

test('a clock that was set right and stays right deletes expired data again after a day, a tenth at a time', () => {
  const clock = ownClock()
  const { recorder, store } = openRecorder(clock)
  for (let n = 0; n < 300; n += 1) {
    clock.pass(1000)
    recorder.record([event({ ts: clock.now() })])
  }
  recorder.flush()
  clock.jump(2 * HOUR)
  const seconds = () => store.read('seconds', 0, Infinity).length
  let before = seconds()
  expect(before).toBe(300)
  const perDay = DAY / 10_000
  for (let run = 0; run < perDay + 400; run += 1) {
    clock.pass(10_000)
    recorder.flush()
    const after = seconds()
    if (run < perDay) expect(after).toBe(300)
    expect(before - after).toBeLessThanOrEqual(Math.max(1, before * 0.1))
    before = after
  }
  expect(before).toBe(0)
})

test('a start whose clock is far ahead of the stored data deletes nothing for a day, or until a later start', () => {
  const clock = ownClock()
  const start = (folder?: string) => {
    const { recorder, store, ...others } = openRecorder({ ...(folder && { folder }), ...clock })
    const end = () => {
      recorder.close()
      store.close()
    }
    const oldest = () => store.read('seconds', 0, NOON + DAY).length
    return { recorder, oldest, end, ...others }
  }
  const first = start()
  first.recorder.record([event({ ts: clock.now() })])
  first.end()

  clock.jump(365 * DAY)
  const second = start(first.folder)
  second.recorder.record([event({ ts: clock.now() })])
  for (let run = 0; run < DAY / 10_000 - 10; run += 1) {
    clock.pass(10_000)
    second.recorder.flush()
    if (run % 100 === 0) expect(second.oldest()).toBe(1)
  }
  expect(second.oldest()).toBe(1)
  second.end()

  const third = start(first.folder)
  third.recorder.flush()
  expect(third.oldest()).toBe(0)
})

type Step = readonly ['pass' | 'jump' | 'away' | 'call' | 'flush' | 'read', ms: number]

const jumpMs = fc.oneof(
  fc.integer({ min: -3 * HOUR, max: 3 * HOUR }),
  fc.integer({ min: -10 * DAY, max: 10 * DAY }),
)
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.tuple(fc.constant('pass' as const), fc.integer({ min: 1, max: 90_000 })),
  fc.tuple(fc.constantFrom('jump' as const, 'away' as const), jumpMs),
  fc.tuple(fc.constantFrom('call' as const, 'flush' as const, 'read' as const), fc.constant(0)),
)

test('for any sequence of clock changes, every window is the sum of the cells in its range', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 5, maxLength: 40 }), (steps) => {
      const clock = ownClock()
      const { recorder, store } = openRecorder(clock)
      const times: number[] = []
      const run = ([kind, ms]: Step): void => {
        if (kind === 'pass') clock.pass(ms)
        if (kind === 'jump') clock.jump(ms)
        if (kind === 'flush') recorder.flush()
        if (kind === 'away')
          for (const each of [
            ['jump', ms],
            ['pass', 300],
            ['read', 0],
            ['jump', -ms],
            ['read', 0],
          ] as const)
            run(each)
        if (kind === 'call') {
          times.push(clock.now())
          recorder.record([event({ ts: clock.now() })])
        }
        if (kind === 'read') compare(recorder, clock.now(), times)
      }
      for (const each of steps) run(each)
      store.close()
    }),
    { numRuns: 40 },
  )
})

function compare(recorder: Recorder, now: number, times: readonly number[]): void {
  for (const window of WINDOWS) {
    const size = STEP_MS[WINDOW[window].level]
    const from = Math.ceil((now - WINDOW[window].ms) / size) * size
    const end = (Math.floor(now / size) + 1) * size
    expect(count(recorder, window), window).toBe(times.filter((ts) => ts >= from && ts < end).length)
  }
  expect(counts(recorder)).toEqual(inTimeseries(recorder, now))
}
