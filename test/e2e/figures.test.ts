import { expect, test } from 'vitest'
import { covers } from '../support/covers.ts'
import { get, post, register } from '../support/running-servers.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

test('calls are counted by server and tool, and the figures are public and survive a restart', async () => {
  covers('metrics-summary', 'metrics-reads', 'public-metrics', 'resource-metrics', 'does-metrics')
  const service = await openTestService()
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  for (let n = 0; n < 5; n += 1)
    await post(service, '/api/servers/echo/tools/echo/call', { arguments: { text: 'x' } })
  await post(service, '/api/servers/echo/tools/slow/call', { arguments: { ms: 60_000 }, timeout_s: 1 })
  const summary = (await service.inject('/api/metrics/summary?window=1h')).json()
  expect(summary).toMatchObject({
    servers: { running: 1 },
    http_servers: {},
    calls: { total: 6, ok: 5, timeout: 1 },
    top_tools: [{ server_id: 'echo', tool: 'echo' }, { tool: 'slow' }],
    process: { rss_bytes: expect.any(Number) },
  })
  expect(summary.latency_ms.p99).toBeGreaterThan(900)
  expect((await get(service, 'echo')).stats).toMatchObject({
    calls: 6,
    errors: 1,
    last_call_at: expect.any(String),
  })
  expect((await service.inject('/api/metrics/servers/echo')).json()).toMatchObject({ calls: { total: 6 } })
  expect((await service.inject('/api/metrics/prometheus')).body).toMatch(
    /^mcp_client_operation_duration_seconds_count\{.*\} \d/m,
  )
  await service.close()
  const again = await openTestService({ home: service.home })
  expect((await get(again, 'echo')).stats).toMatchObject({ calls: 6, errors: 1 })
})

test('other programs record metrics with the token, and an HTTP server has its own metrics endpoint', async () => {
  covers('metrics-record', 'open-auth-metrics-record', 'http-servers-metrics')
  const service = await openTestService()
  const far = { name: 'far', url: 'http://127.0.0.1:9/mcp' }
  await service.inject({ method: 'POST', url: '/api/http-servers', headers: AUTHORISED, payload: far })
  const event = { kind: 'tool_call', server_id: 'far', tool: 'search', duration_ms: 12.5, status: 'ok' }
  const open = await service.inject({ method: 'POST', url: '/api/metrics/record', payload: event })
  expect(open.statusCode).toBe(401)
  const recorded = await post(service, '/api/metrics/record', [
    event,
    { ...event, status: 'error', error_code: 'x' },
  ])
  expect([recorded.statusCode, recorded.json()]).toEqual([202, { accepted: 2 }])
  await post(service, '/api/http-servers/far/test')
  const page = (await service.inject('/api/http-servers/far/metrics?window=1h')).json()
  expect(page).toMatchObject({
    server_id: 'far',
    calls: { total: 2, ok: 1, error: 1 },
    errors: { x: 1 },
    availability_pct: 0,
    checks: [{ ok: false, error_code: 'connection_refused' }],
  })
  expect((await service.inject('/api/http-servers/missing/metrics')).statusCode).toBe(404)
})

test('the slowest tools are those with the highest p95, not with the highest median', async () => {
  const service = await openTestService()
  const call = { kind: 'tool_call', server_id: 'far', status: 'ok' }
  const steady = Array.from({ length: 100 }, () => ({ ...call, tool: 'steady', duration_ms: 100 }))
  const uneven = steady.map((_, n) => ({ ...call, tool: 'uneven', duration_ms: n < 90 ? 10 : 1000 }))
  await post(service, '/api/metrics/record', [...steady, ...uneven])
  const { slowest_tools } = (await service.inject('/api/metrics/summary')).json()
  expect(slowest_tools.map(({ tool }: { tool: string }) => tool)).toEqual(['uneven', 'steady'])
})
