import { expect, test } from 'vitest'
import { WINDOW, WINDOWS, type WindowName } from '../../src/observe/metrics/metric-history.ts'
import type { Recorder } from '../../src/observe/metrics/record/recorder.ts'
import { Cell } from '../../src/observe/metrics/sketch/metric-cells.ts'
import { runs } from '../support/full-or-short.ts'
import { event, NOON, openRecorder } from '../support/metrics.ts'
import { randomFrom } from '../support/random.ts'

const CALLS = runs(8000, 100_000, 1_000_000)
const BATCH = 1000
const SHARES = [0.5, 0.9, 0.95, 0.99]
const WITHIN = 0.01

type Random = () => number
const normal = (random: Random) => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())

const DISTRIBUTIONS: Record<string, (random: Random) => number> = {
  uniform: (random) => 1 + random() * 999,
  lognormal: (random) => Math.exp(4 + 1.5 * normal(random)),
  exponential: (random) => -200 * Math.log(1 - random()),
  bimodal: (random) => (random() < 0.7 ? 5 + normal(random) * 0.5 : 2000 + normal(random) * 200),
  constant: () => 42,
}

test.each(Object.keys(DISTRIBUTIONS))(
  `p50, p90, p95 and p99 of ${CALLS} %s durations are within one percent over every window, before and after a restart`,
  (name) => {
    const { folder, store, recorder } = openRecorder()
    const calls = made(DISTRIBUTIONS[name] as (random: Random) => number)
    for (let start = 0; start < calls.length; start += BATCH) {
      recorder.record(calls.slice(start, start + BATCH))
      if (start % (50 * BATCH) === 0) recorder.flush()
    }
    const before = WINDOWS.map((window) => check(recorder, window, calls))
    recorder.close()
    store.close()
    const again = openRecorder({ folder }).recorder
    expect(WINDOWS.map((window) => check(again, window, calls))).toEqual(before)
  },
)

/** Ordered by end time. Each window contains a quarter of them that the next smaller window does not. */
function made(draw: (random: Random) => number) {
  const random = randomFrom(7)
  const times = Array.from({ length: CALLS }, () => {
    const { ms } = WINDOW[WINDOWS[Math.floor(random() * WINDOWS.length)] as WindowName]
    return NOON - Math.floor(random() * ms)
  })
  return times
    .sort((a, b) => a - b)
    .map((ts, index) =>
      event({
        ts,
        value: draw(random),
        server_id: `server-${index % 3}`,
        tool: `tool-${index % 7}`,
        agent_type: index % 2 === 0 ? 'cursor' : null,
      }),
    )
}

/** Compares the reported quantiles with those of the sorted list. */
function check(recorder: Recorder, window: WindowName, calls: ReturnType<typeof made>) {
  const { from, tally } = recorder.window(window)
  const all = new Cell()
  for (const [, cell] of tally.cells) all.merge(cell)
  const values = calls.filter(({ ts }) => ts >= from).map(({ value }) => value ?? 0)
  values.sort((a, b) => a - b)
  expect(all.count).toBe(values.length)
  expect(values.length).toBeGreaterThan(CALLS / 5)
  return SHARES.map((share) => {
    const right = values[Math.ceil(share * values.length) - 1] as number
    const found = all.sketch.quantile(share) as number
    expect(Math.abs(found - right) / right, `${window} ${share}`).toBeLessThanOrEqual(WITHIN)
    return found
  })
}
