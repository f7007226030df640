import { mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { PRIVATE_FILE } from '../../../test/support/home-env.ts'
import { event, NOON, openRecorder, ownClock } from '../../../test/support/metrics.ts'
import { FactBus } from '../../kernel/fact-bus.ts'
import { WINDOWS, type WindowName } from '../../observe/metrics/metric-history.ts'
import type { Recorder } from '../../observe/metrics/record/recorder.ts'
import { Connection } from '../sqlite/connection.ts'
import { migrate } from '../sqlite/database-file.ts'
import { openSqlite } from '../sqlite/sqlite.ts'
import { METRICS_SCHEMA } from './metrics-schema.ts'

const MINUTE = 60_000
const DAY = 24 * 60 * MINUTE

const PERIOD = {
  server_id: 'a',
  start: 0,
  expected_ms: MINUTE,
  down_ms: 0,
  sampled_ms: MINUTE,
  cpu: 1,
  cpu_max: 1,
  rss: 1,
  rss_max: 1,
}

/** All visible values of a window. */
const snapshotOf = (recorder: Recorder, window: WindowName) => {
  const { from, tally } = recorder.window(window)
  const cells = [...tally.cells].sort(([a], [b]) => a - b)
  const shown = cells.map(([id, { sketch, codes, ...cell }]) => {
    const { kind, server_id, tool, labels } = recorder.series.get(id) ?? {}
    const { count, sum, min, max } = sketch
    const quantiles = [0.5, 0.9, 0.99].map((q) => sketch.quantile(q))
    const key = { kind, server_id, tool, labels, codes: [...(codes ?? [])] }
    return { ...key, ...cell, count, sum: Math.round(sum), min, max, quantiles }
  })
  return { from, shown }
}
const snapshotsOf = (recorder: Recorder) => WINDOWS.map((window) => snapshotOf(recorder, window))

function fill(recorder: Recorder): void {
  for (let n = 0; n < 500; n += 1) {
    const ts = NOON - ([0, 90_000, 12 * MINUTE, 30 * MINUTE, DAY / 2, 3 * DAY].at(n % 6) as number) - n * 10
    const failed = n % 9 === 0
    recorder.record([
      event({
        ts,
        tool: `tool ${n % 5}`,
        value: n * 1.5,
        status: failed ? 'error' : 'ok',
        error_code: failed ? 'boom' : null,
        request_bytes: n,
        response_bytes: 2 ** 40,
      }),
    ])
  }
  const labels = { quoted: 'a"b', unicode: 'ü 世界' }
  recorder.record([event({ kind: 'custom', server_id: null, tool: null, name: 'size', labels, value: 3 })])
}

describe('restart', () => {
  test('every window has the same values after a restart and keeps counting', () => {
    const { folder, recorder, store } = openRecorder()
    fill(recorder)
    const before = snapshotsOf(recorder)
    recorder.close()
    store.close()
    store.close()

    const again = openRecorder({ folder })
    expect(snapshotsOf(again.recorder)).toEqual(before)
    again.recorder.record([event({ tool: 'tool 1' })])
    const total = (recorder: Recorder) =>
      snapshotOf(recorder, '5m').shown.reduce((sum, { count }) => sum + count, 0)
    const previous = before[0]?.shown.reduce((sum, { count }) => sum + count, 0) ?? 0
    expect(total(again.recorder)).toBe(previous + 1)
    again.recorder.flush()
    expect(total(openRecorder({ folder }).recorder)).toBe(previous + 1)
  })

  test('a killed service loses only the events since the last flush', () => {
    const clock = ownClock()
    const { folder, recorder } = openRecorder({ now: clock.now })
    fill(recorder)
    recorder.flush()
    const flushed = snapshotsOf(recorder)
    recorder.record([event({ value: 1e6 })])
    expect(snapshotsOf(openRecorder({ folder, now: clock.now }).recorder)).toEqual(flushed)
  })

  test('a window of five minutes is exact to the second after a restart', () => {
    const clock = ownClock()
    const first = openRecorder({ now: clock.now })
    for (let second = 0; second < 280; second += 1) {
      clock.pass(1000)
      first.recorder.record([event({ ts: clock.now() })])
    }
    first.recorder.close()
    first.store.close()
    const { recorder } = openRecorder({ folder: first.folder, now: clock.now })
    const calls = () => snapshotOf(recorder, '5m').shown.reduce((sum, { count }) => sum + count, 0)
    expect(calls()).toBe(280)
    clock.pass(100_000)
    expect(calls()).toBe(200)
    clock.pass(199_000)
    expect(calls()).toBe(1)
  })

  test('the last 100 checks of a server are restored after a restart', () => {
    const { folder, recorder } = openRecorder()
    const facts = new FactBus((error) => expect.unreachable(String(error)))
    recorder.listen(facts)
    for (let n = 0; n < 250; n += 1) {
      const check = { server_id: 'docs', ok: n % 2 === 0, duration_ms: n, error_code: null, status: 'x' }
      facts.publish('http_server_check', check)
      if (n % 60 === 0) recorder.flush()
    }
    recorder.flush()
    const again = openRecorder({ folder }).recorder.checks
    expect(again.of('docs')).toEqual(recorder.checks.of('docs'))
    expect(again.of('docs')).toHaveLength(100)
    facts.publish('server_removed', { server_id: 'docs', type: 'http' })
    expect(openRecorder({ folder }).recorder.checks.of('docs')).toEqual([])
  })
})

test('a metrics file of the first version is upgraded, and keeps what it has', () => {
  const folder = ownFolder()
  const before = new Connection(join(folder, 'metrics.db'))
  migrate(before, METRICS_SCHEMA.migrations.slice(0, 1))
  before.run("INSERT INTO series VALUES (7, 'tool_call', 'docs', 'search', NULL, NULL, NULL, ?)", NOON)
  before.close()
  const { recorder, troubles } = openRecorder({ folder })
  recorder.availability.sample('docs', { cpu_pct: 1, rss_bytes: 2, processes: 1 })
  recorder.close()
  const again = openRecorder({ folder }).recorder
  expect([...again.series.all()].map(({ id, tool }) => [id, tool])).toEqual([[7, 'search']])
  for (const level of ['minutes', 'quarters', 'hours'] as const)
    expect(again.availability.between(level, NOON - DAY, NOON, DAY, 'docs')).toMatchObject([
      { cpu_max: 1, rss_max: 2 },
    ])
  expect(troubles).toEqual([])
})

describe('unusable metrics file', () => {
  const asides = (folder: string) => readdirSync(folder).filter((name) => name.includes('.damaged-'))

  test.each([
    [
      'is not a database',
      (path: string) => writeFileSync(path, 'this is not a database, and long enough to be read'),
    ],
    [
      'is overwritten in the middle',
      (path: string) => {
        const bytes = readFileSync(path)
        bytes.fill(0x5a, 4096, bytes.length)
        writeFileSync(path, bytes)
      },
    ],
    [
      'comes from a newer version',
      (path: string) => {
        const database = openSqlite(path)
        database.exec('PRAGMA user_version = 99')
        database.close()
      },
    ],
  ])('a metrics file that %s is set aside with a warning and replaced by an empty one', (_, damage) => {
    const { folder, recorder, store } = openRecorder()
    fill(recorder)
    recorder.close()
    store.close()
    damage(join(folder, 'metrics.db'))

    const again = openRecorder({ folder })
    again.recorder.record([event()])
    again.recorder.flush()
    expect(again.troubles[0]).toContain('and were replaced by an empty file; the old file is now')
    expect(asides(folder)).toHaveLength(1)
    expect(snapshotOf(openRecorder({ folder }).recorder, '5m').shown).toHaveLength(1)
  })

  test('after the file is replaced during operation, all pending events are saved again', () => {
    const { folder, recorder, store, troubles } = openRecorder()
    fill(recorder)
    recorder.flush()
    store.save = withOneFailure(store.save.bind(store))
    recorder.record([event({ value: 77 })])
    recorder.flush()
    expect(troubles).toEqual([])
    const { shown } = snapshotOf(openRecorder({ folder }).recorder, '5m')
    expect(shown.some(({ max }) => max === 77)).toBe(true)
  })

  test('when no file can be opened, metrics are kept in memory with a warning', () => {
    const folder = ownFolder()
    mkdirSync(join(folder, 'metrics.db'))
    const { recorder, troubles } = openRecorder({ folder })
    recorder.record([event()])
    recorder.flush()
    expect(troubles).toEqual([expect.stringContaining('are kept in memory until the next start')])
    expect(snapshotOf(recorder, '24h').shown).toHaveLength(1)
  })

  test('the metrics file is readable only by its owner', () => {
    const { folder } = openRecorder()
    expect(statSync(join(folder, 'metrics.db')).mode & 0o777).toBe(PRIVATE_FILE)
  })
})

/** Simulates one save on a damaged file, which was replaced without saving anything. */
function withOneFailure(save: (change: never) => 'saved' | 'recreated') {
  let first = true
  return (change: unknown): 'saved' | 'recreated' => {
    if (!first) return save(change as never)
    first = false
    return 'recreated'
  }
}

test('events that cannot be saved stay visible, are saved later, and cause one report', () => {
  const { folder, recorder, store, troubles } = openRecorder()
  const other = openSqlite(join(folder, 'metrics.db'))
  other.exec('BEGIN IMMEDIATE')
  recorder.record([event()])
  recorder.flush()
  recorder.flush()
  expect(troubles).toEqual([expect.stringContaining('metrics could not be stored')])
  expect(snapshotOf(recorder, '1h').shown).toHaveLength(1)
  other.exec('ROLLBACK')
  other.close()
  recorder.flush()
  expect(store.read('hours', 0, NOON + 1)).toHaveLength(1)
})

test('at most a tenth of the rows is deleted at once, no matter how far the clock jumps', () => {
  const clock = ownClock()
  const { recorder, store } = openRecorder({ now: clock.now, retentionDays: 30 })
  const events = Array.from({ length: 700 }, (_, hour) => event({ ts: NOON - hour * 60 * MINUTE }))
  recorder.record(events)
  recorder.flush()
  const rows = (level: 'minutes' | 'hours') => store.read(level, 0, Number.MAX_SAFE_INTEGER).length
  const [minutes, hours] = [rows('minutes'), rows('hours')]
  expect(hours).toBe(700)
  clock.pass(400 * DAY)
  for (let run = 0; run < 60; run += 1) recorder.flush()
  expect(rows('hours')).toBeGreaterThanOrEqual(hours * 0.89)
  expect(rows('hours')).toBeLessThan(hours)
  expect(rows('minutes')).toBeGreaterThanOrEqual(minutes - 21)
  for (let run = 0; run < 60 * 60; run += 1) recorder.flush()
  expect(rows('hours')).toBe(0)
})

test("a server's periods are combined into whole steps", () => {
  const { store } = openRecorder({})
  const minutes = [0, 1, 2].map((minute) => ({ ...PERIOD, start: minute * MINUTE }))
  store.save({ series: [], blocks: [], checks: [], periods: { minutes, quarters: [], hours: [] } })
  // Numbers of more than 32 bits are bound as REAL by every driver.
  for (const step of [60 * MINUTE, 2 ** 32])
    expect(store.periods('minutes', 0, DAY, step, undefined)).toEqual([
      { ...PERIOD, expected_ms: 3 * MINUTE, sampled_ms: 3 * MINUTE, cpu: 3, rss: 3 },
    ])
})

test('series without events for longer than the retention are deleted', () => {
  const clock = ownClock()
  const { folder, recorder } = openRecorder({ now: clock.now, retentionDays: 1 })
  recorder.record([event({ tool: 'old' })])
  recorder.flush()
  clock.pass(3 * DAY)
  recorder.record([event({ tool: 'new', ts: clock.now() })])
  for (let run = 0; run < 61; run += 1) recorder.flush()
  const names = (some: Recorder) => [...some.series.all()].map(({ tool }) => tool)
  expect(names(recorder)).toEqual(['new'])
  expect(names(openRecorder({ folder, now: clock.now }).recorder)).toEqual(['new'])
})
