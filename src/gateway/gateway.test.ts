import { once } from 'node:events'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { sharedByTests } from '../../test/support/lifetime.ts'
import { post, register } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from '../../test/support/test-service.ts'
import type { NewKey } from './keys/keys.schema.ts'

const META = 'io.modelcontextprotocol'

async function setUp() {
  const service = await openTestService()
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  const { key } = (await post(service, '/api/keys', { agent_type: 'cursor' })).json<NewKey>()
  return { service, key }
}

/** For the tests that add and delete nothing that another one sees. */
const shared = sharedByTests(setUp)

/** Connects a client of the MCP SDK. */
async function legacy(service: TestService, key: string, path = '/mcp') {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(service.address + path), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, transport }
}

/** Sends a request of a modern agent. */
async function modern(
  service: TestService,
  key: string,
  method: string,
  params: object = {},
  more: Record<string, string> = {},
) {
  const name = (params as { name?: string }).name
  const _meta = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: {} }
  const reply = await fetch(`${service.address}/mcp`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${key}`,
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(name !== undefined && { 'mcp-name': name }),
      ...more,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 0, method, params: { ...params, _meta } }),
  })
  const body = (await reply.json()) as { id: unknown; result?: object; error?: object }
  return { status: reply.status, body }
}

describe('legacy agents', () => {
  test('a legacy agent initializes, lists the tools of all servers and calls one, and the call carries its agent type', async () => {
    const { service, key } = await shared()
    const calls: { agent_type?: unknown }[] = []
    const socket = new WebSocket(`${service.address.replace('http', 'ws')}/api/ws/metrics`)
    onTestFinished(() => socket.terminate())
    socket.on('message', (data) => {
      const { type, data: fact } = JSON.parse(String(data))
      if (type === 'call_completed') calls.push(fact)
    })
    await once(socket, 'open')
    const { client } = await legacy(service, key)
    expect(client.getServerVersion()).toMatchObject({ name: 'toolroom' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toContain('echo__echo')
    const result = await client.callTool({ name: 'echo__echo', arguments: { text: 'hello' } })
    expect(JSON.stringify(result)).toContain('hello')
    await expect.poll(() => calls).toMatchObject([{ agent_type: 'cursor', tool: 'echo', server_id: 'echo' }])
    await expect(client.callTool({ name: 'echo__nothing' })).rejects.toMatchObject({ code: -32602 })
  })

  test('a legacy agent sees the tools of one server at its endpoint, and an unknown server is refused', async () => {
    const { service, key } = await shared()
    const { client } = await legacy(service, key, '/mcp/echo')
    expect((await client.listTools()).tools.map(({ name }) => name)).toContain('echo')
    expect(JSON.stringify(await client.callTool({ name: 'echo', arguments: { text: 'alone' } }))).toContain(
      'alone',
    )
    await expect(legacy(service, key, '/mcp/unknown')).rejects.toThrow()
  })

  test('a legacy agent is notified when tools change, and DELETE ends its session', async () => {
    const { service, key } = await setUp()
    const { client, transport } = await legacy(service, key)
    let notifications = 0
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
      notifications += 1
    })
    // Until its stream is open.
    let count = 0
    const afterChange = async () => {
      count += 1
      await register(service, 'noisy', [], { name: `noisy ${count}` })
      return notifications
    }
    await expect.poll(afterChange, { interval: 500 }).toBeGreaterThan(0)
    const session = transport.sessionId ?? ''
    await transport.terminateSession()
    const again = await fetch(`${service.address}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        'mcp-session-id': session,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'tools/list' }),
    })
    expect(again.status).toBe(404)
  })

  test('a request without a session gets 400, and a request with the session of another key gets 404', async () => {
    const { service, key } = await shared()
    const { transport } = await legacy(service, key)
    const other = (await post(service, '/api/keys', { agent_type: 'codex' })).json<NewKey>().key
    const listTools = (bearer: string, session?: string) =>
      fetch(`${service.address}/mcp`, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          authorization: `Bearer ${bearer}`,
          ...(session && { 'mcp-session-id': session }),
        },
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' }),
      })
    expect((await listTools(key)).status).toBe(400)
    expect((await listTools(key, transport.sessionId)).status).toBe(200)
    expect((await listTools(other, transport.sessionId)).status).toBe(404)
  })
})

describe('modern agents', () => {
  test('a modern agent discovers, lists and calls without a session, and the request id may be 0', async () => {
    const { service, key } = await shared()
    const found = await modern(service, key, 'server/discover')
    expect(found.body).toMatchObject({
      id: 0,
      result: { resultType: 'complete', supportedVersions: expect.arrayContaining(['2026-07-28']) },
    })
    const listed = await modern(service, key, 'tools/list')
    expect(listed.body.result).toMatchObject({
      resultType: 'complete',
      cacheScope: 'private',
      ttlMs: expect.any(Number),
    })
    const called = await modern(service, key, 'tools/call', {
      name: 'echo__echo',
      arguments: { text: 'now' },
    })
    expect(called.body.result).toMatchObject({ resultType: 'complete' })
    expect(JSON.stringify(called.body)).toContain('now')
  })

  test('a modern request is refused for contradicting headers, an unknown version, method or tool', async () => {
    const { service, key } = await shared()
    const call = { name: 'echo__echo', arguments: { text: 'x' } }
    expect(await modern(service, key, 'tools/call', call, { 'mcp-name': 'other' })).toMatchObject({
      status: 400,
      body: { error: { code: -32020 } },
    })
    expect(await modern(service, key, 'tools/call', call, { 'mcp-method': 'tools/list' })).toMatchObject({
      status: 400,
      body: { error: { code: -32020 } },
    })
    expect(
      await modern(service, key, 'tools/list', {}, { 'mcp-protocol-version': '2099-01-01' }),
    ).toMatchObject({ status: 400, body: { error: { code: -32020 } } })
    expect(await modern(service, key, 'no/such')).toMatchObject({
      status: 404,
      body: { id: 0, error: { code: -32601 } },
    })
    expect(await modern(service, key, 'tools/call', { name: 'unknown' })).toMatchObject({
      status: 200,
      body: { error: { code: -32602 } },
    })
    const encoded = `=?base64?${Buffer.from('echo__echo').toString('base64')}?=`
    expect((await modern(service, key, 'tools/call', call, { 'mcp-name': encoded })).status).toBe(200)
  })
})

test('deleting a key closes the streams that were opened with it, in both eras', async () => {
  const { service, key } = await setUp()
  const { transport } = await legacy(service, key)
  const headers = { authorization: `Bearer ${key}` }
  const stream = await fetch(`${service.address}/mcp`, {
    headers: { ...headers, 'mcp-session-id': transport.sessionId ?? '' },
  })
  const _meta = { [`${META}/protocolVersion`]: '2026-07-28', [`${META}/clientCapabilities`]: {} }
  const listening = await fetch(`${service.address}/mcp`, {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/json',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'subscriptions/listen',
      params: { notifications: { toolsListChanged: true }, _meta },
    }),
  })
  expect([stream.status, listening.status]).toEqual([200, 200])
  const ended = Promise.all([stream.text(), listening.text()])
  const { items } = (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json()
  await service.inject({ method: 'DELETE', url: `/api/keys/${items[0].id}`, headers: AUTHORISED })
  expect((await ended)[1]).toContain('acknowledged')
})

describe('the MCP endpoint', () => {
  test('/mcp accepts gateway keys but not the token, and refuses foreign origins with 403', async () => {
    const { service, key } = await setUp()
    const status = async (headers: Record<string, string>, method = 'POST') =>
      (await fetch(`${service.address}/mcp`, { method, headers, ...(method === 'POST' && { body: '{}' }) }))
        .status
    const json = { 'content-type': 'application/json' }
    expect(await status(json)).toBe(401)
    expect(await status({ ...json, authorization: `Bearer ${TOKEN}` })).toBe(401)
    expect(await status({ ...json, 'x-svc-token': TOKEN })).toBe(401)
    expect(await status({ ...json, 'x-svc-token': key })).toBe(400)
    expect(await status({ ...json, authorization: `Bearer ${key}`, origin: 'https://evil.example' })).toBe(
      403,
    )
    expect(await status({ authorization: `Bearer ${key}` }, 'GET')).toBe(405)
    expect(await status({ authorization: `Bearer ${key}` }, 'PUT')).toBe(405)
    expect(await status({ authorization: `Bearer ${key}`, 'content-type': 'text/plain' })).toBe(415)
    const { items } = (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json()
    await service.inject({ method: 'DELETE', url: `/api/keys/${items[0].id}`, headers: AUTHORISED })
    expect(await status({ ...json, authorization: `Bearer ${key}` })).toBe(401)
  })

  test("the gateway's 401 distinguishes a missing key, a wrong one, and the management token", async () => {
    const { service } = await setUp()
    const refusal = async (headers: Record<string, string>) => {
      const reply = await fetch(`${service.address}/mcp`, { method: 'POST', headers, body: '{}' })
      const { error } = (await reply.json()) as { error: { message: string; data: { code: string } } }
      return [reply.status, error.data.code, error.message.split(/[.,]/)[0]]
    }
    const missing = [401, 'missing_key', 'The gateway needs a gateway key']
    expect(await refusal({})).toEqual(missing)
    const invalid = [401, 'invalid_key', 'The gateway key is wrong or was deleted']
    expect(await refusal({ authorization: 'Bearer tk_wrong' })).toEqual(invalid)
    expect(await refusal({ authorization: 'Basic x' })).toEqual(invalid)
    const token = [401, 'management_token', 'This is the management token']
    expect(await refusal({ authorization: `Bearer ${TOKEN}` })).toEqual(token)
    expect(await refusal({ 'x-svc-token': TOKEN })).toEqual(token)
  })

  test.each([
    '',
    '[]',
    'null',
    '{"jsonrpc":"1.0"}',
    '{"jsonrpc":"2.0","id":{}}',
    '{"jsonrpc":"2.0","id":1,"method":7}',
    '\u0000',
  ])('the body %j gets a JSON-RPC error', async (body) => {
    const { service, key } = await shared()
    const headers = { 'content-type': 'application/json', authorization: `Bearer ${key}` }
    const reply = await fetch(`${service.address}/mcp`, { method: 'POST', headers, body })
    expect(reply.status).toBe(400)
    expect(await reply.json()).toMatchObject({
      jsonrpc: '2.0',
      id: null,
      error: { code: expect.any(Number) },
    })
  })
})
