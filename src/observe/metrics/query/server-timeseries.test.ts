import { describe, expect, test } from 'vitest'
import { event, openRecorder, ownClock } from '../../../../test/support/metrics.ts'
import { openMetrics } from '../../../../test/support/metrics-api.ts'
import { FactBus } from '../../../kernel/fact-bus.ts'
import type { ResourcePoint, ServerPoint } from '../metrics.schema.ts'

interface Answer<P> {
  readonly step_s: number
  readonly series: readonly { readonly server_id: string | null; readonly points: readonly P[] }[]
}
const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
const S = 1000

describe('by=server_id', () => {
  test('each server has a series with its calls and the seconds in which it should have been available and was not', async () => {
    const { get, recorder, clock, statuses } = await openMetrics()
    const be = (server: string, status: string, seconds: number) => {
      statuses.set(server, status)
      recorder.availability.setStatus(server, status)
      clock.pass(seconds * S)
    }
    be('docs', 'running', 60)
    be('docs', 'backoff', 7)
    be('docs', 'starting', 3)
    be('docs', 'running', 20)
    be('docs', 'stopped', 25) // by a person
    be('docs', 'failed', 5)
    be('docs', 'idle', 30)
    recorder.record([event({ ts: clock.now() }), event({ ts: clock.now(), server_id: 'removed' })])
    const seriesOf = async (query: string) =>
      (await get(`timeseries?by=server_id&${query}`)).json<Answer<ServerPoint>>().series
    for (const window of ['5m', '1h', '24h', '7d']) {
      const series = await seriesOf(`window=${window}`)
      expect(series.map(({ server_id }) => server_id)).toEqual(['docs', 'quiet', 'removed'])
      const [docs, quiet] = series.map(({ points }) => ({
        down: sum(points.map(({ down_s }) => down_s)),
        calls: sum(points.map(({ calls }) => calls)),
      }))
      expect({ window, ...docs }).toEqual({ window, down: 15, calls: 1 })
      expect(quiet).toEqual({ down: 0, calls: 0 })
    }
    const two = await seriesOf('window=1h&server_id=docs&server_id=removed')
    expect(two.map(({ server_id }) => server_id)).toEqual(['docs', 'removed'])
    expect((await get(`timeseries?${'server_id=docs&'.repeat(51)}`)).statusCode).toBe(422)
    const exact = (await seriesOf('window=5m&step=10s&server_id=docs'))[0]?.points.map(({ down_s }) => down_s)
    expect(exact?.filter((down_s) => down_s > 0)).toEqual([9.6, 0.4, 4.6, 0.4]) // steps begin at whole seconds
    const { availability_pct } = (await get('servers/docs')).json()
    expect(availability_pct).toBeCloseTo((80 / 95) * 100, 2)
    expect((await get('servers/quiet')).json()).toMatchObject({ availability_pct: null })
    for (const wrong of ['by=tool', 'by=server_id&window=24h&step=5m', 'kind=resources&window=1h&step=1s'])
      expect((await get(`timeseries?${wrong}`)).statusCode).toBe(422)
  })

  test('availability and resources survive a restart, and a minute that is saved in two parts is counted once', () => {
    const clock = ownClock()
    const { folder, recorder } = openRecorder({ now: clock.now, elapsed: clock.steady })
    recorder.availability.setStatus('docs', 'failed')
    clock.pass(10 * S)
    recorder.availability.setStatus('docs', 'failed')
    recorder.close()
    const again = openRecorder({ folder, now: clock.now, elapsed: clock.steady }).recorder
    again.availability.setStatus('docs', 'running')
    clock.pass(10 * S)
    again.availability.setStatus('docs', 'running')
    again.availability.sample('docs', { cpu_pct: 50, rss_bytes: 1000, processes: 1 })
    const read = () =>
      again.availability.between('hours', clock.now() - 3_600_000, clock.now(), 3_600_000, 'docs')
    const whole = [{ expected_ms: 20 * S, down_ms: 10 * S, cpu_max: 50, rss_max: 1000 }]
    expect(read()).toMatchObject(whole)
    again.flush(true)
    expect(read()).toMatchObject(whole)
  })
})

describe('kind=resources', () => {
  test('a series has the average over time and the maximum of CPU and memory, and null while the server did not run', async () => {
    const { get, recorder, clock } = await openMetrics()
    const facts = new FactBus((error) => expect.unreachable(String(error)))
    recorder.listen(facts)
    const sample = (cpu_pct: number, rss_bytes: number, seconds: number) => {
      clock.pass(seconds * S)
      facts.publish('server_resources', {
        server_id: 'docs',
        resources: { cpu_pct, rss_bytes, processes: 1 },
      })
    }
    recorder.availability.setStatus('docs', 'running')
    sample(0, 100, 2)
    sample(100, 300, 2)
    sample(0, 100, 16) // a quiet server is sampled less often
    for (const window of ['5m', '1h', '7d']) {
      const answer = await get(`timeseries?kind=resources&window=${window}&server_id=docs`)
      const [series] = answer.json<Answer<ResourcePoint>>().series
      const points = series?.points ?? []
      expect(points[0]).toEqual({ ts: expect.any(String), cpu_pct: null, rss_bytes: null })
      expect(Math.max(...points.map(({ cpu_pct }) => cpu_pct?.max ?? 0))).toBe(100)
      expect(Math.max(...points.map(({ rss_bytes }) => rss_bytes?.max ?? 0))).toBe(300)
    }
    const hour = (await get('timeseries?kind=resources&window=7d')).json<Answer<ResourcePoint>>()
    expect(hour.series.map(({ server_id }) => server_id)).toEqual(['docs', 'quiet'])
    expect(hour.series[0]?.points.at(-1)).toMatchObject({
      cpu_pct: { avg: 10, max: 100 },
      rss_bytes: { avg: 120, max: 300 },
    })
  })
})
