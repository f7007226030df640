import { expect, test } from 'vitest'
import { covers } from '../support/covers.ts'
import { AUTHORISED, openHouse } from '../support/house.ts'
import { get, post, register } from '../support/running.ts'

test('calls are counted by server and tool, and the figures are public and survive a restart', async () => {
  covers('metrics-summary', 'metrics-reads', 'public-metrics', 'resource-metrics', 'does-metrics')
  const house = await openHouse()
  await register(house, 'echo')
  await post(house, '/api/servers/echo/start')
  for (let n = 0; n < 5; n += 1)
    await post(house, '/api/servers/echo/tools/echo/call', { arguments: { text: 'x' } })
  await post(house, '/api/servers/echo/tools/slow/call', { arguments: { ms: 60_000 }, timeout_s: 1 })
  const summary = (await house.inject('/api/metrics/summary?window=1h')).json()
  expect(summary).toMatchObject({
    servers: { running: 1 },
    http_servers: {},
    calls: { total: 6, ok: 5, timeout: 1 },
    top_tools: [{ server_id: 'echo', tool: 'echo' }, { tool: 'slow' }],
    process: { rss_bytes: expect.any(Number) },
  })
  expect(summary.latency_ms.p99).toBeGreaterThan(900)
  expect((await get(house, 'echo')).stats).toMatchObject({
    calls: 6,
    errors: 1,
    last_call_at: expect.any(String),
  })
  expect((await house.inject('/api/metrics/servers/echo')).json()).toMatchObject({ calls: { total: 6 } })
  expect((await house.inject('/api/metrics/prometheus')).body).toMatch(
    /^mcp_client_operation_duration_seconds_count\{.*\} \d/m,
  )
  await house.close()
  const again = await openHouse({ home: house.home })
  expect((await get(again, 'echo')).stats).toMatchObject({ calls: 6, errors: 1 })
})

test('other programs record metrics with the token, and an HTTP server has its own metrics endpoint', async () => {
  covers('metrics-record', 'open-auth-metrics-record', 'http-servers-metrics')
  const house = await openHouse()
  const far = { name: 'far', url: 'http://127.0.0.1:9/mcp' }
  await house.inject({ method: 'POST', url: '/api/http-servers', headers: AUTHORISED, payload: far })
  const event = { kind: 'tool_call', server_id: 'far', tool: 'search', duration_ms: 12.5, status: 'ok' }
  const open = await house.inject({ method: 'POST', url: '/api/metrics/record', payload: event })
  expect(open.statusCode).toBe(401)
  const recorded = await post(house, '/api/metrics/record', [
    event,
    { ...event, status: 'error', error_code: 'x' },
  ])
  expect([recorded.statusCode, recorded.json()]).toEqual([202, { accepted: 2 }])
  await post(house, '/api/http-servers/far/test')
  const page = (await house.inject('/api/http-servers/far/metrics?window=1h')).json()
  expect(page).toMatchObject({
    server_id: 'far',
    calls: { total: 2, ok: 1, error: 1 },
    errors: { x: 1 },
    availability_pct: 0,
    checks: [{ ok: false, error_code: 'connection_refused' }],
  })
  expect((await house.inject('/api/http-servers/missing/metrics')).statusCode).toBe(404)
})

test('p50, p90, p95, p99 and max are those of the sorted durations within 1 %, in every response that has them', async () => {
  const house = await openHouse()
  const far = { name: 'far', url: 'http://127.0.0.1:9/mcp' }
  await house.inject({ method: 'POST', url: '/api/http-servers', headers: AUTHORISED, payload: far })
  const calls = Array.from({ length: 6000 }, (_, n) => ({
    kind: 'tool_call',
    server_id: 'far',
    tool: n % 3 === 0 ? 'search' : 'fetch',
    agent_type: n % 4 === 0 ? 'cursor' : 'codex',
    status: 'ok',
    duration_ms: spread(n),
  }))
  for (let start = 0; start < calls.length; start += 500)
    expect((await post(house, '/api/metrics/record', calls.slice(start, start + 500))).statusCode).toBe(202)

  const of = (field: 'tool' | 'agent_type', value: string) => calls.filter((call) => call[field] === value)
  const read = async (path: string) => (await house.inject(path)).json()
  const summary = await read('/api/metrics/summary?window=1h')
  isExact(summary.latency_ms, calls)
  const lists = [summary.top_tools, summary.slowest_tools, (await read('/api/metrics/tools?window=1h')).items]
  for (const tools of lists) {
    expect(tools).toHaveLength(2)
    for (const { tool, latency_ms } of tools) isExact(latency_ms, of('tool', tool))
  }
  for (const agents of [summary.agents, (await read('/api/metrics/agents?window=1h')).items]) {
    expect(agents).toHaveLength(2)
    for (const { agent_type, latency_ms } of agents) isExact(latency_ms, of('agent_type', agent_type))
  }
  isExact((await read('/api/metrics/servers/far?window=1h')).latency_ms, calls)
  isExact((await read('/api/http-servers/far/metrics?window=1h')).latency_ms, calls)
  const { points } = await read('/api/metrics/timeseries?window=7d&step=1d&tool=search')
  const full = points.filter((point: { calls: number }) => point.calls === of('tool', 'search').length)
  expect(full).toHaveLength(1) // all calls of this test are on one day
  isExact(full[0], of('tool', 'search'))
})

test('the slowest tools are those with the highest p95, not with the highest median', async () => {
  const house = await openHouse()
  const call = { kind: 'tool_call', server_id: 'far', status: 'ok' }
  const steady = Array.from({ length: 100 }, () => ({ ...call, tool: 'steady', duration_ms: 100 }))
  const uneven = steady.map((_, n) => ({ ...call, tool: 'uneven', duration_ms: n < 90 ? 10 : 1000 }))
  await post(house, '/api/metrics/record', [...steady, ...uneven])
  const { slowest_tools } = (await house.inject('/api/metrics/summary')).json()
  expect(slowest_tools.map(({ tool }: { tool: string }) => tool)).toEqual(['uneven', 'steady'])
})

/** From a millisecond to a minute, a few of them much longer than the others. */
const spread = (n: number): number => 10 ** (((n * 7919) % 6000) / 1250)

/** Computed from the sorted list, without code of the service. */
function isExact(shown: Record<string, number>, calls: readonly { readonly duration_ms: number }[]): void {
  const sorted = calls.map(({ duration_ms }) => duration_ms).sort((a, b) => a - b)
  expect(sorted.length).toBeGreaterThan(1000)
  for (const [name, share] of [
    ['p50', 0.5],
    ['p90', 0.9],
    ['p95', 0.95],
    ['p99', 0.99],
    ['max', 1],
  ] as const) {
    const right = sorted[Math.ceil(share * sorted.length) - 1] ?? Number.NaN
    expect(
      Math.abs((shown[name] ?? Number.NaN) / right - 1),
      `${name}: ${shown[name]}, not ${right}`,
    ).toBeLessThan(0.0101)
  }
}
