import { lookup } from 'node:dns'
import { expect, onTestFinished, test } from 'vitest'
import { openDualEra } from '../../../../test/fixtures/http/dual-era.ts'
import { openFaults } from '../../../../test/fixtures/http/faults.ts'
import { openHttp, pem } from '../../../../test/fixtures/http/sites.ts'
import { answerTo, bodyOf } from '../../../../test/fixtures/http/tiny.ts'
import { testConnection } from './test-connection.ts'

const run = (url: string, own: Partial<Parameters<typeof testConnection>[0]> = {}) =>
  testConnection({ url, headers: {}, transport: 'auto', version: '0', timeoutMs: 60_000, ...own })
const stepsOf = (report: Awaited<ReturnType<typeof testConnection>>) =>
  report.steps.map(({ name, ok }) => (ok ? name : `${name}!`))

test('a healthy server passes every step, and each step has a detail', async () => {
  const faults = await openFaults()
  onTestFinished(() => void faults.close())
  const { port } = new URL(faults.urls.good_tls)
  const report = await run(`https://localhost:${port}/mcp`, { network: { ca: pem('authority'), lookup } })
  expect(report).toMatchObject({
    ok: true,
    transport: 'streamable_http',
    protocol_version: '2025-06-18',
    server_info: { name: 'tiny', version: '1.0.0' },
    tool_count: 1,
    error: null,
  })
  expect(report.steps.map(({ name, ok, detail }) => [name, ok, detail])).toEqual([
    ['dns', true, 'localhost was resolved'],
    ['tcp', true, `localhost:${port} accepts connections`],
    ['tls', true, `The certificate for localhost:${port} is valid`],
    ['http', true, `localhost:${port} answers over HTTP`],
    ['initialize', true, 'It supports MCP 2025-06-18 over Streamable HTTP'],
    ['tools_list', true, 'It offers 1 tool'],
  ])
  const sum = report.steps.reduce((total, { ms }) => total + ms, 0)
  expect(report.latency_ms).toBeCloseTo(sum, 5)
  await expect.poll(faults.open).toEqual([])
})

test('steps that do not apply are left out of the report', async () => {
  const server = await openDualEra()
  onTestFinished(() => server.close())
  const report = await run(server.url)
  expect(stepsOf(report)).toEqual(['tcp', 'http', 'initialize', 'tools_list'])
  expect(report).toMatchObject({ ok: true, protocol_version: '2026-07-28', tool_count: 2 })
})

test.each([
  ['nonsense', 'protocol_error', ['dns!']],
  ['http://169.254.169.254/', 'blocked_address', ['tcp!']],
  ['http://metadata.google.internal/', 'blocked_address', ['dns!']],
])('a test of %s ends with %s', async (url, code, steps) => {
  const report = await run(url)
  expect([report.error?.code, stepsOf(report)]).toEqual([code, steps])
})

test('secrets that a server repeats are masked in the report', async () => {
  const site = await openHttp(async (request, response) => {
    const received = await bodyOf(request)
    const { authorization = '' } = request.headers
    const text = answerTo(received).replace('"tiny"', JSON.stringify(authorization))
    if (received.method === 'tools/list') {
      const error = { code: -1, message: `wrong ${authorization} for ${request.url}` }
      return void response.end(JSON.stringify({ jsonrpc: '2.0', id: received.id, error }))
    }
    response.end(text)
  })
  onTestFinished(() => site.close())
  const report = await run(`${site.origin}/mcp?key=key-in-the-query`, {
    headers: { Authorization: 'Bearer the-token' },
  })
  expect(stepsOf(report)).toEqual(['tcp', 'http', 'initialize', 'tools_list!'])
  expect(report.server_info).toEqual({ name: '***', version: '1.0.0' })
  expect(report.error?.message).toContain('rejected tools/list: wrong ***')
  expect(JSON.stringify(report)).not.toMatch(/the-token|key-in-the-query/)
})
