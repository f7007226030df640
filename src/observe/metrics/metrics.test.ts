import { describe, expect, onTestFinished, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import { event, NOON } from '../../../test/support/metrics.ts'
import { CALL, CUSTOM, FIGURES, openMetrics } from '../../../test/support/metrics-api.ts'
import { ProcessSampler } from './own-process-sampler.ts'

describe('summary', () => {
  test('a summary without calls has all fields, with null latencies', async () => {
    const { get } = await openMetrics()
    expect((await get('summary')).json()).toEqual({
      uptime_s: 61,
      servers: { running: 2, stopped: 1 },
      http_servers: { connected: 1 },
      calls: { total: 0, ok: 0, error: 0, timeout: 0, cancelled: 0, rate_per_s: 0, error_rate: 0 },
      latency_ms: { p50: null, p90: null, p95: null, p99: null, max: null },
      top_tools: [],
      slowest_tools: [],
      top_errors: [],
      agents: [],
      process: FIGURES,
    })
  })

  test('the summary counts calls by outcome, tool, agent and error', async () => {
    const { get, post } = await openMetrics()
    const many = Array.from({ length: 96 }, (_, n) => ({ ...CALL, duration_ms: n + 1, agent_type: 'cursor' }))
    const failed = [
      { ...CALL, tool: 'slow', duration_ms: 5000, status: 'timeout', error_code: 'call_timeout' },
      { ...CALL, tool: 'slow', duration_ms: 900, status: 'error', error_code: 'tool_error' },
      { ...CALL, tool: 'slow', duration_ms: 900, status: 'error', error_code: 'tool_error' },
      { ...CALL, server_id: 'other', duration_ms: 1, status: 'cancelled' },
    ]
    expect((await post([...many, ...failed, CUSTOM])).json()).toEqual({ accepted: 101 })
    const { calls, latency_ms, top_tools, slowest_tools, top_errors, agents } = (await get('summary')).json()
    expect(calls).toMatchObject({ total: 100, ok: 96, error: 2, timeout: 1, cancelled: 1, error_rate: 0.03 })
    expect(calls.rate_per_s).toBeCloseTo(100 / 300, 2)
    expect(latency_ms.p50).toBeGreaterThan(49 * 0.99)
    expect(latency_ms.p50).toBeLessThan(49 * 1.01)
    expect(latency_ms.max).toBe(5000)
    expect(top_tools.map((each: { tool: string }) => each.tool)).toEqual(['search', 'slow', 'search'])
    expect(slowest_tools[0]).toMatchObject({ server_id: 'docs', tool: 'slow', calls: { total: 3 } })
    expect(top_errors).toEqual([
      { error_code: 'tool_error', server_id: 'docs', count: 2 },
      { error_code: 'call_timeout', server_id: 'docs', count: 1 },
    ])
    expect(agents).toMatchObject([
      { agent_type: 'cursor', calls: { total: 96 } },
      { agent_type: null, calls: { total: 4 } },
    ])
  })

  test('the summary of each window counts exactly the calls in that window', async () => {
    const { get, post } = await openMetrics()
    const ages = [0, 30 * 60_000, 20 * 3_600_000, 6 * 86_400_000]
    await post(ages.map((age) => ({ ...CALL, ts: new Date(NOON - age).toISOString() })))
    const totals = await Promise.all(
      ['5m', '1h', '24h', '7d'].map(
        async (window) => (await get(`summary?window=${window}`)).json().calls.total,
      ),
    )
    expect(totals).toEqual([1, 2, 3, 4])
    expect((await get('summary?window=6m')).statusCode).toBe(422)
  })

  test('a summary of five minutes with 100 busy series takes less than 5 ms', async () => {
    const { recorder, metrics, clock } = await openMetrics()
    for (let second = 0; second < 320; second += 1) {
      clock.pass(1000)
      recorder.record(
        Array.from({ length: 100 }, (_, n) =>
          event({ ts: clock.now(), tool: `tool ${n}`, value: (n * second) % 997 }),
        ),
      )
      if (second % 10 === 0) recorder.flush()
      if (second > 200) metrics.summary('5m')
    }
    const times: number[] = []
    for (let round = 0; round < 50; round += 1) {
      clock.pass(1000)
      const spent = stopwatch()
      metrics.summary('5m')
      times.push(spent())
    }
    const median = times.sort((a, b) => a - b)[25] ?? 0
    expect(median).toBeLessThan(5) // bench/metrics.bench.ts measures precisely
  })
})

describe('timeseries', () => {
  test('a time series has one point per step, including empty ones, and supports filters', async () => {
    const { get, post } = await openMetrics()
    const ago = (s: number) => new Date(NOON - s * 1000).toISOString()
    await post([
      { ...CALL, ts: ago(0), duration_ms: 20 },
      { ...CALL, ts: ago(100), agent_type: 'cursor' },
      { ...CALL, ts: ago(100), tool: 'other', status: 'error' },
      { ...CUSTOM, ts: ago(100), value: 7 },
    ])
    const points = async (query: string) => (await get(`timeseries?${query}`)).json()
    const all = await points('window=5m&step=10s')
    expect(all).toMatchObject({ window: '5m', step_s: 10 })
    expect(all.points).toHaveLength(30)
    expect(all.points.at(-1)).toMatchObject({ ts: '2026-11-15T09:30:30.000Z', calls: 1, p50: 20, max: 20 })
    expect(all.points.at(-11)).toMatchObject({ calls: 2, errors: 1 })
    expect(all.points[0]).toMatchObject({ calls: 0, p50: null })
    const sum = (some: { points: { calls: number }[] }) => some.points.reduce((n, { calls }) => n + calls, 0)
    expect(sum(await points('window=5m&tool=other'))).toBe(1)
    expect(sum(await points('window=1h&agent_type=cursor'))).toBe(1)
    expect(sum(await points('window=24h&server_id=docs'))).toBe(3)
    expect(sum(await points('window=24h&step=1h'))).toBe(3)
    expect(sum(await points('window=7d&step=1d'))).toBe(3)
    const custom = await points('window=1h&kind=custom&name=queue')
    expect(custom.points.find(({ calls }: { calls: number }) => calls > 0)).toMatchObject({ max: 7 })
  })

  test.each([
    ['window=1h&step=10s', 'step must be a whole number of minutes: a window of 1h has no finer resolution'],
    ['window=7d&step=30m', 'step must be a whole number of hours: a window of 7d has no finer resolution'],
    ['window=5m&step=1h', 'must not be longer than the window'],
    ['step=0s', 'must be a duration'],
    ['step=1.5m', 'must be a duration'],
    ['server_id=A', 'must be'],
    ['nope=1', 'is not a known field'],
  ])('the time series query %s is refused with 422', async (query, sentence) => {
    const { get } = await openMetrics()
    const reply = await get(`timeseries?${query}`)
    expect(reply.json()).toMatchObject({ status: 422, detail: expect.stringContaining(sentence) })
  })
})

test('metrics are available by tool, by agent and for one server', async () => {
  const { get, post } = await openMetrics()
  await post([
    CALL,
    { ...CALL, request_bytes: 5, response_bytes: 7 },
    { ...CALL, server_id: 'web', agent_type: 'cursor', status: 'error', error_code: 'boom' },
    { kind: 'check', server_id: 'docs', duration_ms: 3, status: 'ok' },
    { kind: 'check', server_id: 'docs', duration_ms: 9, status: 'error', error_code: 'upstream_timeout' },
  ])
  const tools = (await get('tools')).json()
  expect(tools).toMatchObject({ total: 2, next_cursor: null })
  expect(tools.items[0]).toMatchObject({
    server_id: 'docs',
    calls: { total: 2 },
    request_bytes: 5,
    response_bytes: 7,
  })
  expect((await get('tools?server_id=web')).json()).toMatchObject({ total: 1, items: [{ server_id: 'web' }] })
  expect(
    (await get('agents?window=24h')).json().items.map((one: { agent_type: string }) => one.agent_type),
  ).toEqual([null, 'cursor'])
  const docs = (await get('servers/Docs?window=1h')).json()
  expect(docs).toMatchObject({
    server_id: 'docs',
    window: '1h',
    calls: { total: 2, error_rate: 0 },
    errors: {},
    latency_ms: { p50: 10, max: 10 },
    availability_pct: 50,
    checks: [
      { ok: false, duration_ms: 9, error_code: 'upstream_timeout' },
      { ok: true, duration_ms: 3, error_code: null },
    ],
  })
  expect(docs.series.length).toBeGreaterThanOrEqual(60)
  // A deleted server is found as long as its metrics are kept.
  expect((await get('servers/web')).json()).toMatchObject({ errors: { boom: 1 }, availability_pct: null })
  expect((await get('servers/quiet')).json()).toMatchObject({ calls: { total: 0 }, checks: [] })
  expect((await get('servers/unknown')).json()).toMatchObject({ status: 404, code: 'not_found' })
})

test('the cached metrics of a server are updated after every event and when time passes', async () => {
  const { metrics, recorder, clock } = await openMetrics()
  expect(metrics.statsOf('docs')).toEqual({
    calls: 0,
    errors: 0,
    p50_ms: null,
    p95_ms: null,
    last_call_at: null,
  })
  recorder.record([event({ status: 'timeout' })])
  expect(metrics.statsOf('docs')).toMatchObject({ calls: 1, errors: 1, p50_ms: 10, p95_ms: 10 })
  recorder.record([event({ value: 1 }), event({ kind: 'check', tool: null })])
  expect(metrics.statsOf('docs')).toMatchObject({
    calls: 2,
    p50_ms: 1,
    last_call_at: '2026-11-15T09:30:30.400Z',
  })
  expect(metrics.statsOf('docs')).toBe(metrics.statsOf('docs'))
  clock.pass(25 * 3_600_000)
  expect(metrics.statsOf('docs')).toMatchObject({ calls: 0, last_call_at: null })
})

test('all metrics can be read without a token', async () => {
  const { get } = await openMetrics()
  for (const path of ['summary', 'timeseries', 'servers/docs', 'tools', 'agents', 'prometheus', 'summary/'])
    expect((await get(path)).statusCode, path).toBe(200)
})

test('the process sampler reports plausible CPU, memory and event loop values', async () => {
  const sampler = new ProcessSampler()
  onTestFinished(() => sampler.close())
  const [startedAt, before] = [performance.now(), process.cpuUsage()]
  const until = startedAt + 1200
  while (performance.now() < until) await new Promise((resolve) => setImmediate(resolve))
  const { cpu_pct, rss_bytes, event_loop_lag_ms } = sampler.figures()
  const { user, system } = process.cpuUsage(before)
  const used_pct = (user + system) / 10 / (performance.now() - startedAt)
  expect(cpu_pct / used_pct).toBeGreaterThan(0.5)
  expect(cpu_pct / used_pct).toBeLessThan(2)
  expect(rss_bytes).toBeGreaterThan(10_000_000)
  expect(event_loop_lag_ms).toBeGreaterThanOrEqual(0)
})
