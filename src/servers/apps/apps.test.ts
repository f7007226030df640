import { expect, test } from 'vitest'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import { iframePolicy } from './iframe-policy.ts'

test('the page of a tool is served once, sandboxed, and reaches only the domains that its resource declares (MCP Apps)', async () => {
  const service = await openTestService()
  await register(service, 'app-page')
  expect((await post(service, '/api/servers/app-page/start')).statusCode).toBe(200)
  const tools = (await service.inject('/api/servers/app-page/tools')).json()
  const uri = 'ui://app-page/view.html'
  expect(tools.items).toMatchObject([
    { name: 'show', app_uri: uri },
    { name: 'refresh', app_uri: null },
  ])
  const open = (payload: object, headers: Record<string, string> = AUTHORISED) =>
    service.inject({ method: 'POST', url: '/api/app-frames', headers, payload })
  expect((await open({ server_id: 'app-page', uri }, {})).statusCode).toBe(401)
  expect((await open({ server_id: 'app-page', uri: 'https://example.com' })).statusCode).toBe(422)
  expect((await open({ server_id: 'nowhere', uri })).statusCode).toBe(404)
  expect((await open({ server_id: 'app-page', uri: `${uri}x` })).statusCode).toBe(502)

  const opened = await open({ server_id: 'app-page', uri })
  expect(opened.statusCode).toBe(201)
  const { url, policy } = opened.json()
  const { statusCode, headers, body } = await service.inject(url)
  expect(statusCode).toBe(200)
  expect(body).toContain('<button>Refresh</button>')
  expect(headers).toMatchObject({
    'content-security-policy': policy,
    'x-frame-options': 'SAMEORIGIN',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  expect(policy).toMatch(/^sandbox allow-scripts; default-src 'none'; /)
  expect(policy).toContain("connect-src https://api.example.com; frame-src 'none'; frame-ancestors 'self'")
  expect((await service.inject(url)).statusCode).toBe(404)
})

test('a declared domain that is no origin is left out of the policy', () => {
  const resourceDomains = [
    'https://cdn.example.com',
    'https://*.example.org:8443',
    "https://a.example; script-src 'self'",
    'https://a.example https://b.example',
    "'unsafe-eval'",
    '*',
    'data:',
    'javascript://x',
    7,
  ]
  const policy = iframePolicy({ ui: { csp: { resourceDomains } } })
  expect(policy).toContain("script-src 'unsafe-inline' https://cdn.example.com https://*.example.org:8443;")
  expect(policy).not.toMatch(/unsafe-eval|javascript|a\.example/)
  for (const meta of [
    undefined,
    null,
    'x',
    { ui: [] },
    { ui: { csp: { connectDomains: 'https://x.example' } } },
  ])
    expect(iframePolicy(meta)).toBe(iframePolicy({}))
})
