import { expect, test } from 'vitest'
import { event, NOON, openRecorder, ownClock } from '../../../../test/support/metrics.ts'
import { FactBus } from '../../../kernel/fact-bus.ts'
import type { WindowName } from '../metric-history.ts'
import { Cell } from '../sketch/metric-cells.ts'
import type { Recorder } from './recorder.ts'
import { MAX_SERIES } from './series-table.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

const sum = (recorder: Recorder, window: WindowName): Cell => {
  const all = new Cell()
  for (const [, cell] of recorder.window(window).tally.cells) all.merge(cell)
  return all
}
const counts = (recorder: Recorder) =>
  (['5m', '1h', '24h', '7d'] as const).map((window) => sum(recorder, window).count)

test('an event is counted in every window that includes its time', () => {
  const { recorder } = openRecorder()
  const ages = [0, 4 * MINUTE, 14 * MINUTE, 50 * MINUTE, 20 * HOUR, 40 * HOUR, 6 * DAY, 20 * DAY]
  recorder.record(ages.map((age) => event({ ts: NOON - age })))
  expect(counts(recorder)).toEqual([2, 4, 5, 7])
})

test('a cached window stays correct when time passes and late events arrive', () => {
  const clock = ownClock()
  const { recorder } = openRecorder({ now: clock.now })
  const times: number[] = []
  for (let step = 0; step < 3000; step += 1) {
    clock.pass(7001)
    const late = step % 5 === 0 ? 90_000 : step % 7 === 0 ? 40 * MINUTE : 0
    times.push(clock.now() - late)
    recorder.record([event({ ts: clock.now() - late, value: step })])
    if (step % 11 === 0) recorder.flush()
    if (step % 3 !== 0) continue
    for (const [window, ms, unit] of [
      ['5m', 5 * MINUTE, 1000],
      ['1h', HOUR, MINUTE],
    ] as const) {
      const from = Math.ceil((clock.now() - ms) / unit) * unit
      expect(recorder.window(window).from).toBe(from)
      expect(sum(recorder, window).count).toBe(times.filter((ts) => ts >= from).length)
    }
  }
  expect(sum(recorder, '24h').count).toBe(3000)
})

test('percentiles of a coarser level are computed from all values of the finer levels', () => {
  const clock = ownClock()
  const { recorder } = openRecorder({ now: clock.now })
  const values = Array.from({ length: 2000 }, (_, n) => (n * 7919) % 2000)
  for (const value of values) {
    clock.pass(2500)
    recorder.record([event({ ts: clock.now(), value })])
  }
  recorder.flush()
  const { sketch } = sum(recorder, '24h')
  expect(sketch.quantile(0.95)).toBeGreaterThan(1899 * 0.99)
  expect(sketch.quantile(0.95)).toBeLessThan(1899 * 1.01)
})

test('error codes are counted separately up to 31, and together as other above that', () => {
  const { recorder } = openRecorder()
  for (let code = 0; code < 50; code += 1)
    recorder.record([event({ status: 'error', error_code: `e${code}` })])
  const { codes } = sum(recorder, '5m')
  expect(codes?.size).toBe(32)
  expect(codes?.get('other')).toBe(19)
})

test('a request with the 10,001st label set is refused as a whole, while facts above the limit are combined', () => {
  const { recorder } = openRecorder()
  const sets = Array.from({ length: MAX_SERIES - 1 }, (_, n) =>
    event({ kind: 'custom', server_id: null, tool: null, name: 'n', labels: { n: String(n) } }),
  )
  recorder.record(sets)
  expect(() => recorder.record([event({ tool: 'a' }), event({ tool: 'b' })])).toThrow(
    expect.objectContaining({ code: 'cardinality_limit', status: 429 }),
  )
  expect(sum(recorder, '5m').count).toBe(MAX_SERIES - 1)
  recorder.record([event({ tool: 'a' }), event({ tool: 'a' }), ...sets.slice(0, 10)])

  const facts = new FactBus((error) => expect.unreachable(String(error)))
  recorder.listen(facts)
  for (const tool of ['c', 'd']) facts.publish('call_completed', called(tool))
  const other = [...recorder.series.all()].filter(({ server_id, kind }) => kind === 'tool_call' && !server_id)
  expect(other).toHaveLength(1)
  expect(sum(recorder, '5m').count).toBe(MAX_SERIES - 1 + 14)
})

test('published calls and checks are counted, and a line break in a tool name is replaced', () => {
  const { recorder } = openRecorder()
  const facts = new FactBus((error) => expect.unreachable(String(error)))
  const stop = recorder.listen(facts)
  facts.publish('call_completed', called('a\nb'))
  facts.publish('http_server_check', checked(true))
  stop()
  facts.publish('call_completed', called('later'))
  expect([...recorder.series.all()]).toMatchObject([
    { kind: 'tool_call', server_id: 'docs', tool: 'a\u{fffd}b', agent_type: 'cursor' },
    { kind: 'check', server_id: 'docs', tool: null },
  ])
  expect(recorder.checks.of('docs')).toEqual([
    { server_id: 'docs', ts: NOON, ok: true, duration_ms: 12, error_code: null },
  ])
})

test('the last 100 checks of a server are kept until it is removed', () => {
  const { recorder } = openRecorder()
  const facts = new FactBus((error) => expect.unreachable(String(error)))
  recorder.listen(facts)
  for (let n = 0; n < 130; n += 1) facts.publish('http_server_check', checked(n % 2 === 0, n))
  expect(recorder.checks.of('docs').map(({ duration_ms }) => duration_ms)).toEqual(
    Array.from({ length: 100 }, (_, n) => n + 30),
  )
  facts.publish('server_removed', { server_id: 'docs', type: 'http' })
  expect(recorder.checks.of('docs')).toEqual([])
})

test.each([
  ['ten days ahead', 10 * DAY],
  ['ten days back', -10 * DAY],
  ['an hour back', -HOUR],
  ['a minute back', -MINUTE],
])('a clock that jumps %s neither loses nor duplicates events', (_, jump) => {
  const clock = ownClock()
  const { recorder } = openRecorder({ now: clock.now })
  recorder.record([event({ ts: clock.now() })])
  expect(counts(recorder)).toEqual([1, 1, 1, 1])
  recorder.flush()
  clock.pass(jump)
  recorder.record([event({ ts: clock.now() }), event({ ts: clock.now() })])
  expect(sum(recorder, '5m').count).toBeGreaterThanOrEqual(2)
  recorder.flush()
  clock.pass(-jump)
  expect(sum(recorder, '24h').count).toBeGreaterThanOrEqual(1)
  for (const count of counts(recorder)) expect(count).toBeLessThanOrEqual(3)
})

test('seconds are stored for 15 minutes and then deleted', () => {
  const clock = ownClock()
  const { recorder, store } = openRecorder({ now: clock.now })
  for (let second = 0; second < 2000; second += 1) {
    clock.pass(1000)
    recorder.record([event({ ts: clock.now() })])
    if (second % 10 === 9) recorder.flush()
  }
  const seconds = store.read('seconds', 0, clock.now() + 1).length
  expect(seconds).toBeGreaterThanOrEqual(900)
  expect(seconds).toBeLessThan(925)
})

const called = (tool: string) =>
  ({
    call_id: 1,
    server_id: 'docs',
    tool,
    agent_type: 'cursor',
    session_id: null,
    request_id: null,
    request_bytes: 20,
    started_at: NOON,
    duration_ms: 5,
    queue_ms: 1,
    start_ms: 0,
    server_ms: 4,
    status: 'ok',
    error_code: null,
    error_message: null,
    response_bytes: 10,
  }) as const

const checked = (ok: boolean, duration_ms = 12) => ({
  server_id: 'docs',
  ok,
  duration_ms,
  error_code: ok ? null : 'upstream_timeout',
  status: ok ? 'connected' : 'unreachable',
})
