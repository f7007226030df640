import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../../test/fixtures/http/proxy.ts'
import { openHttp, openHttps } from '../../test/fixtures/http/sites.ts'
import { tiny } from '../../test/fixtures/http/tiny.ts'
import { post } from '../../test/support/running-servers.ts'
import { openTestService } from '../../test/support/test-service.ts'
import { add } from '../../test/support/with-servers.ts'

async function houseWithProxy(url: string, more: Record<string, string> = {}) {
  const proxy = await openProxy()
  onTestFinished(() => proxy.close())
  const login = proxy.origin.replace('//', '//me:pa55word@')
  const service = await openTestService({ env: { HTTP_PROXY: login, HTTPS_PROXY: login, ...more } })
  expect((await add(service, { name: 'far', url }, '/api/http-servers')).statusCode).toBe(201)
  const connectionTest = async () => (await post(service, '/api/http-servers/far/test')).json()
  return { proxy, service, connectionTest, proxyHost: new URL(proxy.origin).host }
}

async function plainServer() {
  const site = await openHttp(tiny)
  onTestFinished(() => site.close())
  return site
}

test('the service reaches an HTTP server through the proxy of its environment', async () => {
  const site = await plainServer()
  const url = `http://plain.test:${site.port}/mcp`
  const { proxy, service, connectionTest, proxyHost } = await houseWithProxy(url)
  const report = await connectionTest()
  expect(report).toMatchObject({ ok: true, tool_count: 1 })
  expect(report.steps.map(({ name }: { name: string }) => name)).toEqual([
    'tcp',
    'http',
    'initialize',
    'tools_list',
  ])
  expect(report.steps[0].detail).toBe(`The proxy ${proxyHost} accepts connections`)
  const call = await post(service, '/api/http-servers/far/tools/echo/call', { arguments: { text: 'hi' } })
  expect(call.json()).toMatchObject({ content: [{ text: 'hi' }] })
  expect(new Set(proxy.requests.map(({ line }) => line))).toEqual(new Set([`POST ${url}`]))
})

test('the service reaches hosts of NO_PROXY and loopback directly', async () => {
  const site = await plainServer()
  const direct = await houseWithProxy(`http://127.0.0.1:${site.port}/mcp`)
  expect(await direct.connectionTest()).toMatchObject({ ok: true })
  const listed = await houseWithProxy('http://no-such-host.invalid/mcp', { NO_PROXY: '.invalid' })
  expect(await listed.connectionTest()).toMatchObject({ ok: false, error: { code: 'dns_failed' } })
  expect([...direct.proxy.requests, ...listed.proxy.requests]).toEqual([])
})

test('a connection test through a tunnel names the step that failed', async () => {
  const site = await openHttps('other-host', tiny)
  onTestFinished(() => site.close())
  const { proxy, connectionTest, proxyHost } = await houseWithProxy(`https://elsewhere.test:${site.port}/mcp`)
  const untrusted = await connectionTest()
  expect(untrusted).toMatchObject({ ok: false, error: { code: 'tls_failed' } })
  expect(untrusted.steps.map(({ name }: { name: string }) => name)).toEqual(['tcp', 'tls'])
  proxy.refuse(407)
  const refused = await connectionTest()
  expect(refused).toMatchObject({
    steps: [{ name: 'tcp', ok: false }],
    error: {
      code: 'proxy_failed',
      message: `The proxy ${proxyHost} (set by HTTPS_PROXY) rejects the login (status 407)`,
    },
  })
  expect(JSON.stringify(refused)).not.toContain('pa55word')
})
