import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { WINDOW, WINDOWS } from '../../src/observe/metrics/metric-history.ts'
import { openSqlite } from '../../src/store/sqlite/sqlite.ts'
import { fakeClock, findFaketime, setClock } from '../support/faketime.ts'
import { figure } from '../support/figure.ts'
import { ownFolder } from '../support/folder.ts'
import { runs } from '../support/full-or-short.ts'
import { definition } from '../support/running-servers.ts'
import { openService } from '../support/service-process.ts'

type Service = Awaited<ReturnType<typeof openService>>

const HOUR_S = 3600
const DAY_S = 24 * HOUR_S
/** Metrics are saved, and expired ones deleted, every ten seconds. */
const ROUNDS = runs(1, 6, 12)
const OFFSETS_S = [10 * DAY_S, -10 * DAY_S, HOUR_S, -HOUR_S, 365 * DAY_S, -2 * HOUR_S, 2 * HOUR_S, -60, 60, 0]
const MAX_DELETED = 0.1

const library = findFaketime() ?? ''

describe.runIf(library !== '')('R16: a clock that jumps by up to a year, back and forth each second', () => {
  test('restarts no server, gives no negative figure, deletes at most a tenth of the data, and keeps windows complete', {
    timeout: 600_000,
  }, async () => {
    const file = join(ownFolder(), 'clock')
    setClock(file, 0)
    const service = await openService({ env: fakeClock(library, file) })
    for (const name of ['a', 'b', 'c']) {
      await service.add(definition('echo', [], { name, start_mode: 'eager' }))
      await service.start(name)
    }
    const before = await pids(service)
    const times: number[] = []
    const call = async (offsetS: number) => {
      const reply = await service.ask('POST', '/servers/a/tools/echo/call', { arguments: { text: 'x' } })
      expect(reply.status).toBe(200)
      times.push(Date.now() + offsetS * 1000)
    }
    for (let n = 0; n < 100; n += 1) await call(0)

    let rows = await until(
      () => rowsOf(service),
      ({ seconds }) => seconds > 0,
    )
    let looks = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      for (const offsetS of OFFSETS_S) {
        setClock(file, offsetS)
        await call(offsetS)
        expect(await pids(service)).toEqual(before)
        await expectNothingNegative(service)
        await sleep(1000)
        const now = rowsOf(service)
        for (const level of ['seconds', 'minutes', 'hours'] as const)
          expect(now[level], level).toBeGreaterThanOrEqual(Math.floor(rows[level] * (1 - MAX_DELETED)))
        rows = now
        looks += 1
      }
    }

    setClock(file, 0)
    for (const window of WINDOWS) {
      const { body: summary } = await service.ask('GET', `/metrics/summary?window=${window}`)
      const step = `1${WINDOW[window].level[0]}`
      const { body: series } = await service.ask('GET', `/metrics/timeseries?window=${window}&step=${step}`)
      const inSeries = series.points.reduce((sum: number, { calls }: { calls: number }) => sum + calls, 0)
      expect(summary.calls.total, window).toBe(inSeries)
      // A minute on each side, because the window ends with the current second, minute or hour.
      const ages = times.map((ts) => Date.now() - ts)
      const certain = ages.filter((age) => age >= -1000 && age < WINDOW[window].ms - 60_000).length
      expect(summary.calls.total, window).toBeGreaterThanOrEqual(certain)
    }
    const { body: health } = await service.ask('GET', '/health')
    expect(health).toMatchObject({ status: 'ok' })
    const restarts = (await pids(service)).reduce((sum, { restart_count }) => sum + restart_count, 0)
    figure('R16', `restarts of servers in ${looks} clock changes`, restarts, { exactly: 0 })
    figure('R16', 'hours of metrics that are kept', rows.hours, { least: 5 })
  })
})

async function pids(service: Service) {
  return (await service.list()).map(({ id, pid, status, restart_count }) => ({
    id,
    pid,
    status,
    restart_count,
  }))
}

async function expectNothingNegative(service: Service): Promise<void> {
  for (const path of [
    '/servers',
    '/metrics/summary?window=24h',
    '/metrics/servers/a?window=1h',
    '/health',
    '/metrics/tools',
  ]) {
    const { status, body } = await service.ask('GET', path)
    expect(status).toBe(200)
    expect(negativeIn(body, path)).toEqual([])
  }
}

/** The places of all negative numbers. */
function negativeIn(value: unknown, place: string): string[] {
  if (typeof value === 'number') return value < 0 ? [`${place} is ${value}`] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, each]) => negativeIn(each, `${place}.${name}`))
}

function rowsOf({ data }: Service) {
  const database = openSqlite(join(data, 'metrics.db'))
  try {
    database.exec('PRAGMA busy_timeout = 2000; PRAGMA query_only = ON')
    const count = (level: string) => Number(database.prepare(`SELECT count(*) AS n FROM ${level}`).get()?.n)
    return { seconds: count('seconds'), minutes: count('minutes'), hours: count('hours') }
  } finally {
    database.close()
  }
}

async function until<T>(look: () => T, matches: (value: T) => boolean): Promise<T> {
  for (let tries = 0; tries < 600; tries += 1) {
    const value = look()
    if (matches(value)) return value
    await sleep(100)
  }
  return expect.unreachable('no metrics were saved within 60 s')
}
