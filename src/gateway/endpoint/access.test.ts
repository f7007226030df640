import { describe, expect, onTestFinished, test } from 'vitest'
import { openHttp } from '../../../test/fixtures/http/sites.ts'
import { tiny } from '../../../test/fixtures/http/tiny.ts'
import { gateHeaders, gateTable, pairwiseRequests } from '../../../test/support/gate-table.ts'
import { Agent, META, newKey, textOf } from '../../../test/support/gateway.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { readOpenApi } from '../../../test/support/openapi.ts'
import { inParallel, rawAnswer, requestBytes } from '../../../test/support/raw-http.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'

const JSON_TYPE = { 'content-type': 'application/json' }
const PING = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta: META } })
const MODERN = { 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/list' }

async function setUp() {
  const service = await openTestService()
  await register(service, 'recorder')
  await post(service, '/api/servers/recorder/start')
  return { service, key: await newKey(service) }
}

describe('gateway keys', () => {
  test.each(['/mcp', '/mcp/recorder', '/mcp/unknown'])(
    '%s accepts a gateway key, and neither the token nor an invalid key in any header',
    async (path) => {
      const { service, key } = await setUp()
      const send = (headers: Record<string, string>, method = 'POST') =>
        fetch(service.address + path, {
          method,
          headers: { ...JSON_TYPE, ...MODERN, ...headers },
          ...(method === 'POST' && { body: PING }),
        })
      const refused: Record<string, string>[] = [
        {},
        { authorization: `Bearer ${TOKEN}` },
        { authorization: `bearer ${TOKEN}` },
        { authorization: TOKEN },
        { authorization: `Basic ${Buffer.from(`toolroom:${TOKEN}`).toString('base64')}` },
        { 'x-svc-token': TOKEN },
        { authorization: `Bearer ${TOKEN}`, 'x-svc-token': TOKEN },
        { authorization: `Bearer ${key}x` },
        { authorization: `Bearer ${key.toUpperCase()}` },
        { authorization: 'Bearer' },
        { cookie: `key=${key}` },
        { 'x-api-key': key },
      ]
      for (const headers of refused) {
        for (const method of ['POST', 'GET', 'DELETE']) {
          const reply = await send(headers, method)
          expect(reply.status, JSON.stringify(Object.keys(headers))).toBe(401)
          expect(reply.headers.get('www-authenticate')).toMatch(/^Bearer /)
          expect(await reply.json()).toMatchObject({
            jsonrpc: '2.0',
            id: null,
            error: { code: expect.any(Number) },
          })
        }
      }
      const expected = path === '/mcp/unknown' ? 404 : 200
      expect((await send({ authorization: `Bearer ${key}` })).status).toBe(expected)
      expect((await send({ 'x-svc-token': key })).status).toBe(expected)
      expect(
        (await fetch(`${service.address + path}?key=${key}`, { method: 'POST', headers: JSON_TYPE })).status,
      ).toBe(401)
    },
  )
})

test('a gateway key is rejected by every protected API route, in both headers', async () => {
  const { service, key } = await setUp()
  const { operations } = readOpenApi((await service.inject('/docs/json')).json())
  const protectedRoutes = operations.filter(({ needsToken }) => needsToken)
  expect(protectedRoutes.length).toBeGreaterThan(20)
  expect(protectedRoutes.map(({ method, path }) => `${method} ${path}`)).toContain('POST /api/keys')
  const before = (await service.inject('/api/servers')).json()
  // All at once, because failed attempts delay later responses.
  await inParallel(protectedRoutes, protectedRoutes.length, async ({ method, path }) => {
    const url = path.replace(/\{(\w+)\}/g, 'recorder')
    for (const headers of [{ 'x-svc-token': key }, { authorization: `Bearer ${key}` }]) {
      const reply = await fetch(service.address + url, { method, headers })
      expect.soft(reply.status, `${method} ${url} with ${Object.keys(headers)}`).toBe(401)
      await reply.arrayBuffer()
    }
  })
  expect((await service.inject('/api/servers')).json().items).toMatchObject(
    before.items.map(({ id, status, revision }: { id: string; status: string; revision: number }) => ({
      id,
      status,
      revision,
    })),
  )
})

describe('the gate', () => {
  const shared = sharedByTests(setUp)

  test.each([
    ['POST', '/mcp', 200],
    ['POST', '/mcp/recorder', 200],
    ['GET', '/mcp', 405],
    ['DELETE', '/mcp/recorder', 405],
  ])('the Host and Origin checks apply to %s %s, even with a valid key', async (method, path, accepted) => {
    const { service, key } = await shared()
    const port = Number(new URL(service.address).port)
    const headers = Object.entries({ ...JSON_TYPE, ...MODERN, authorization: `Bearer ${key}` })
    const unexpected: string[] = []
    const { alone, pairs } = pairwiseRequests(gateTable(port))
    await inParallel([...alone, ...pairs], 48, async ([request, verdict]) => {
      const body = method === 'POST' ? PING : ''
      const bytes = requestBytes(method, path, [...gateHeaders(request), ...headers], body)
      const answer = await rawAnswer({ port }, bytes)
      const good =
        verdict === 'in'
          ? answer.status === accepted
          : answer.status === 403 && JSON.parse(answer.body).code === verdict
      if (!good || answer.head.includes('access-control-'))
        unexpected.push(`${JSON.stringify(request)}: ${answer.status} instead of ${verdict}`)
    })
    expect(unexpected).toEqual([])
  })

  test.each([
    ['no Host header', []],
    ['two Host headers', ['127.0.0.1', '127.0.0.1']],
  ])('a request with %s is refused', async (_, hosts) => {
    const { service, key } = await shared()
    const port = Number(new URL(service.address).port)
    const lines = hosts.map((host) => ['Host', `${host}:${port}`] as const)
    const bytes = requestBytes('POST', '/mcp', [...lines, ['Authorization', `Bearer ${key}`]], PING)
    expect((await rawAnswer({ port }, bytes)).status).toBe(400)
  })
})

describe('credentials and headers of an agent', () => {
  const AGENT_HEADERS = {
    cookie: 'session=of-the-agent',
    forwarded: 'for=of-the-agent',
    'x-api-key': 'of-the-agent',
    'x-forwarded-for': 'of-the-agent',
    'proxy-authorization': 'Basic of-the-agent',
    'user-agent': 'of-the-agent',
  }

  /** Calls a tool as a modern agent, with additional headers. */
  async function callWith(service: TestService, key: string, name: string, headers: Record<string, string>) {
    const reply = await fetch(`${service.address}/mcp`, {
      method: 'POST',
      headers: {
        ...JSON_TYPE,
        ...MODERN,
        'mcp-method': 'tools/call',
        'mcp-name': name,
        ...AGENT_HEADERS,
        ...headers,
      },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 0,
        method: 'tools/call',
        params: { name, arguments: { text: 'hello' }, _meta: META },
      }),
    })
    expect(reply.status).toBe(200)
    expect(JSON.stringify(await reply.json())).not.toContain(key)
  }

  test('neither the key nor any other header of an agent reaches an HTTP server', async () => {
    const { service, key } = await setUp()
    const bodies: string[] = []
    const site = await openHttp((request, response) => {
      request.on('data', (part) => bodies.push(String(part)))
      return tiny(request, response)
    })
    onTestFinished(() => site.close())
    const remote = { name: 'remote', url: `${site.origin}/mcp`, headers: { authorization: 'Bearer its-own' } }
    expect((await add(service, remote, '/api/http-servers')).statusCode).toBe(201)
    const tools = () => service.inject('/api/http-servers/remote/tools').then(({ statusCode }) => statusCode)
    await service.inject({
      method: 'POST',
      url: '/api/http-servers/remote/tools/echo/call',
      headers: AUTHORISED,
      payload: {},
    })
    await expect.poll(tools).toBe(200)
    const from = site.received.length
    await callWith(service, key, 'remote__echo', { authorization: `Bearer ${key}` })
    await callWith(service, key, 'remote__echo', { 'x-svc-token': key })
    await callWith(service, key, 'remote__echo', { authorization: `Bearer ${key}`, 'x-svc-token': TOKEN })
    const legacy = await Agent.open(service, key, 'legacy')
    expect(textOf((await legacy.call('remote__echo', { text: 'old' })).answers[0])).toBe('old')
    expect(site.received.length).toBeGreaterThanOrEqual(from + 4)
    for (const headers of site.received) {
      expect(headers.authorization).toBe('Bearer its-own')
      for (const name of [
        'x-svc-token',
        'cookie',
        'forwarded',
        'x-api-key',
        'x-forwarded-for',
        'proxy-authorization',
      ])
        expect(headers[name], name).toBeUndefined()
    }
    expect(bodies.join('')).toContain('"tools/call"')
    const everything = JSON.stringify([site.received, bodies])
    for (const secret of [key, TOKEN, 'of-the-agent']) expect(everything).not.toContain(secret)
  })

  test('neither the key nor any other header of an agent reaches a STDIO server', async () => {
    const { service, key } = await setUp()
    await callWith(service, key, 'recorder__all', { authorization: `Bearer ${key}` })
    await callWith(service, key, 'recorder__all', { 'x-svc-token': key })
    const legacy = await Agent.open(service, key, 'legacy')
    const seen = textOf((await legacy.call('recorder__all')).answers[0]) ?? ''
    expect(JSON.parse(seen).read).toContain('"tools/call"')
    for (const secret of [key, TOKEN, 'of-the-agent', 'mcp-session-id']) expect(seen).not.toContain(secret)
  })
})
