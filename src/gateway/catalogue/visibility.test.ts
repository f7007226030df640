import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { Agent, textOf } from '../../../test/support/gateway.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { openSqlite } from '../../store/sqlite/sqlite.ts'
import type { AgentToolsView } from '../catalogue/visibility.schema.ts'
import type { NewKey } from '../keys/keys.schema.ts'

/** Two servers, `echo` and `noisy`, and a key for Cursor. */
async function setUp({ home = ownFolder(), running = true } = {}) {
  const service = await openTestService({ home })
  for (const kind of ['echo', 'noisy']) {
    await register(service, kind)
    if (running) expect((await post(service, `/api/servers/${kind}/start`)).statusCode).toBe(200)
  }
  const { key } = (await post(service, '/api/keys', { agent_type: 'cursor' })).json<NewKey>()
  return { service, key }
}

const read = (service: TestService, agent = 'cursor') =>
  service.inject({ url: `/api/agents/${agent}/tools`, headers: AUTHORISED })

const select = (service: TestService, payload: object, agent = 'cursor') =>
  service.inject({ method: 'PUT', url: `/api/agents/${agent}/tools`, headers: AUTHORISED, payload })

async function selected(service: TestService, payload: object): Promise<AgentToolsView> {
  const reply = await select(service, payload)
  expect(reply.statusCode, reply.body).toBe(200)
  return reply.json()
}

const change = (service: TestService, id: string, payload: object) =>
  service.inject({ method: 'PATCH', url: `/api/servers/${id}`, headers: AUTHORISED, payload })

async function agent(service: TestService, key: string, path = '/mcp') {
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StreamableHTTPClientTransport(new URL(service.address + path), {
    requestInit: { headers: { authorization: `Bearer ${key}` } },
  })
  onTestFinished(() => client.close())
  await client.connect(transport as Parameters<typeof client.connect>[0])
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  const call = (name: string, args: object = {}) => client.callTool({ name, arguments: { ...args } })
  return { client, names, call }
}

const UNKNOWN = { code: -32_602, message: expect.stringContaining('Unknown tool') }

describe('visible tools', () => {
  test('an agent sees all tools by default, and the view shows their token cost', async () => {
    const { service } = await setUp()
    const { items } = (await service.inject('/api/servers/echo/tools')).json()
    const view = (await read(service)).json<AgentToolsView>()
    expect(view).toMatchObject({ agent_type: 'cursor', tool_mode: 'full', servers: null, tools: {} })
    expect(view.by_server.map(({ server_id }) => server_id)).toEqual(['echo', 'noisy'])
    const tokens = items.reduce((sum: number, one: { tokens: number }) => sum + one.tokens, 0)
    expect(view.by_server[0]).toEqual({ server_id: 'echo', tools: items.length, tokens })
    expect(view.visible).toEqual({
      servers: 2,
      tools: view.by_server.reduce((sum, one) => sum + one.tools, 0),
      tokens: view.tokens_full,
    })
    expect(view.tokens_full).toBe(view.by_server.reduce((sum, one) => sum + one.tokens, 0))
  })

  test('a selection takes effect at once, and other tools cannot be called', async () => {
    const { service, key } = await setUp()
    const { key: other } = (await post(service, '/api/keys', { agent_type: 'codex' })).json<NewKey>()
    const [cursor, codex] = [await agent(service, key), await agent(service, other)]
    const all = await cursor.names()
    expect(all).toContain('noisy__echo')
    const view = await selected(service, { servers: ['echo'], tools: { echo: ['echo', 'not there yet'] } })
    expect(view).toMatchObject({ servers: ['echo'], visible: { servers: 1, tools: 1 } })
    expect(await cursor.names()).toEqual(['echo__echo'])
    expect(JSON.stringify(await cursor.call('echo__echo', { text: 'still here' }))).toContain('still here')
    await expect(cursor.call('echo__pid')).rejects.toMatchObject(UNKNOWN)
    await expect(cursor.call('noisy__echo', { text: 'x' })).rejects.toMatchObject(UNKNOWN)
    expect(await codex.names()).toEqual(all)
    await selected(service, { servers: null, tools: {} })
    expect(await cursor.names()).toEqual(all)
  })

  test('a selection also applies at the endpoint of one server', async () => {
    const { service, key } = await setUp()
    const echo = await agent(service, key, '/mcp/echo')
    await selected(service, { servers: ['echo'], tools: { echo: ['pid'] } })
    expect(await echo.names()).toEqual(['pid'])
    await expect(echo.call('echo', { text: 'x' })).rejects.toMatchObject(UNKNOWN)
    await expect(agent(service, key, '/mcp/noisy')).rejects.toThrow('Server not found')
    await selected(service, { servers: ['noisy'] })
    await expect(echo.names()).rejects.toThrow('Server not found')
  })

  test("a key that is made for an alias of an agent has the agent's type and its selection", async () => {
    const { service } = await setUp()
    const made = (await post(service, '/api/keys', { agent_type: 'windsurf' })).json<NewKey>()
    expect(made).toMatchObject({ agent_type: 'devin-desktop', name: 'windsurf' })
    const reply = await select(service, { servers: ['echo'], tools: { echo: ['pid'] } }, 'devin-desktop')
    expect(reply.statusCode, reply.body).toBe(200)
    const windsurf = await agent(service, made.key)
    expect(await windsurf.names()).toEqual(['echo__pid'])
    expect((await select(service, { tools: { echo: ['echo'] } }, 'windsurf')).json()).toMatchObject({
      agent_type: 'devin-desktop',
    })
    expect(await windsurf.names()).toEqual(['echo__echo'])
    await expect(windsurf.call('echo__pid')).rejects.toMatchObject(UNKNOWN)
  })

  test('keys and selections that an earlier version saved with an alias apply to the agent and show nothing that either hides', async () => {
    const home = ownFolder()
    const { service } = await setUp({ home, running: false })
    const { key } = (await post(service, '/api/keys', { agent_type: 'devin-desktop' })).json<NewKey>()
    await select(service, { servers: ['echo'] }, 'devin-desktop')
    await service.close()
    const hidden = { tool_mode: 'full', servers: null, tools: { echo: ['pid', 'echo'] } }
    const database = openSqlite(join(service.data, 'toolroom.db'))
    database.exec("UPDATE keys SET agent_type = 'windsurf' WHERE agent_type = 'devin-desktop'")
    database.prepare("INSERT INTO agent_tools VALUES ('windsurf', ?)").run(JSON.stringify(hidden))
    database.close()
    const again = await openTestService({ home })
    for (const kind of ['echo', 'noisy'])
      expect((await post(again, `/api/servers/${kind}/start`)).statusCode).toBe(200)
    const windsurf = await agent(again, key)
    expect((await windsurf.names()).sort()).toEqual(['echo__echo', 'echo__pid'])
    // A new selection replaces both.
    await select(again, { tools: {}, servers: ['noisy'] }, 'windsurf')
    await again.close()
    expect((await read(await openTestService({ home }), 'devin-desktop')).json()).toMatchObject({
      servers: ['noisy'],
      tools: {},
    })
  })

  test('a selection survives a restart, and omitted fields keep their value', async () => {
    const home = ownFolder()
    const { service } = await setUp({ home, running: false })
    await selected(service, { servers: ['echo'] })
    await selected(service, { tool_mode: 'search' })
    await selected(service, { tools: { echo: ['pid'], noisy: null } })
    await service.close()
    const again = await openTestService({ home })
    expect((await read(again)).json()).toMatchObject({
      tool_mode: 'search',
      servers: ['echo'],
      tools: { echo: ['pid'] },
    })
  })

  test('two simultaneous changes of a selection are both saved', async () => {
    const { service } = await setUp({ running: false })
    await Promise.all([selected(service, { servers: ['echo'] }), selected(service, { tool_mode: 'search' })])
    expect((await read(service)).json()).toMatchObject({ tool_mode: 'search', servers: ['echo'] })
  })

  test('a deleted server stays in a selection, but cannot be selected again', async () => {
    const { service, key } = await setUp()
    const cursor = await agent(service, key)
    await selected(service, { servers: ['echo', 'noisy'], tools: { noisy: ['echo'] } })
    await service.inject({ method: 'DELETE', url: '/api/servers/noisy', headers: AUTHORISED })
    expect((await read(service)).json()).toMatchObject({
      servers: ['echo', 'noisy'],
      visible: { servers: 1 },
      by_server: [{ server_id: 'echo' }],
    })
    expect(await cursor.names()).not.toContain('noisy__echo')
    const refused = await select(service, { servers: ['noisy'] })
    expect(refused.json()).toMatchObject({ status: 422, errors: [{ path: '/servers/0' }] })
    expect(refused.json().detail).toContain("'noisy'")
  })

  test('a selection is audited with its difference, and only when it changes', async () => {
    const { service } = await setUp({ running: false })
    await selected(service, { servers: ['echo'] })
    await selected(service, { servers: ['echo'] })
    const { items } = (await service.inject('/api/logs?source=audit&search=agent')).json()
    expect(items).toHaveLength(1)
    expect(items[0]).toMatchObject({
      message: 'agent tools changed: cursor',
      data: { changed: { servers: { before: null, after: ['echo'] } } },
    })
  })
})

describe('selecting tools', () => {
  test('reading and changing a selection need the token', async () => {
    const { service, key } = await setUp({ running: false })
    expect((await service.inject('/api/agents/cursor/tools')).statusCode).toBe(401)
    const headers = { authorization: `Bearer ${key}` }
    const payload = { servers: null }
    for (const method of ['GET', 'PUT'] as const) {
      const reply = await service.inject({ method, url: '/api/agents/cursor/tools', headers, payload })
      expect(reply.statusCode).toBe(401)
    }
  })

  test('a selection needs a known agent type or the agent type of a key', async () => {
    const { service } = await setUp({ running: false })
    expect((await read(service, 'claude-code')).statusCode).toBe(200)
    expect((await read(service, 'windsurf')).json()).toMatchObject({ agent_type: 'devin-desktop' })
    expect((await read(service, 'my-own')).statusCode).toBe(404)
    expect((await select(service, { servers: null }, 'my-own')).statusCode).toBe(404)
    await post(service, '/api/keys', { agent_type: 'my-own' })
    expect((await select(service, { servers: [] }, 'my-own')).json()).toMatchObject({ visible: { tools: 0 } })
  })

  const unchanged = sharedByTests(() => setUp({ running: false }))

  test.each<[object, string]>([
    [{}, ''],
    [{ tool_mode: 'all' }, '/tool_mode'],
    [{ servers: ['unknown'] }, '/servers/0'],
    [{ servers: ['echo', 'echo'] }, '/servers'],
    [{ servers: 'echo' }, '/servers'],
    [{ tools: { unknown: null } }, '/tools/unknown'],
    [{ tools: { echo: [''] } }, '/tools/echo/0'],
    [{ tools: { echo: 'pid' } }, '/tools/echo'],
    [{ tools: null }, '/tools'],
    [{ server: [] }, '/server'],
  ])('the selection %j is refused and changes nothing', async (payload, path) => {
    const { service } = await unchanged()
    const reply = await select(service, payload)
    expect(reply.json()).toMatchObject({ status: 422, code: 'invalid_input', errors: [{ path }] })
    expect((await read(service)).json()).toMatchObject({ tool_mode: 'full', servers: null, tools: {} })
  })
})

describe('search mode', () => {
  test('in search mode an agent gets two tools, with which it finds and calls the others', async () => {
    const { service, key } = await setUp()
    const cursor = await agent(service, key)
    const view = await selected(service, { tool_mode: 'search' })
    expect(view.visible.tools).toBe(view.by_server.reduce((sum, one) => sum + one.tools, 0))
    expect(view.visible.tokens).not.toBe(view.tokens_full)
    expect(await cursor.names()).toEqual(['find_tools', 'call_tool'])
    const found = await cursor.call('find_tools', { query: 'echo', limit: 2 })
    expect(found).toMatchObject({
      structuredContent: { tools: [{ name: 'echo__echo', inputSchema: { type: 'object' } }, {}] },
    })
    const echoed = await cursor.call('call_tool', { name: 'echo__echo', arguments: { text: 'found you' } })
    expect(JSON.stringify(echoed)).toContain('found you')
    expect(await cursor.call('call_tool', { name: 'echo__nothing' })).toMatchObject({ isError: true })
    await selected(service, { servers: ['noisy'] })
    expect(await cursor.call('find_tools', { query: 'pid' })).toMatchObject({
      structuredContent: { tools: [], total: 0 },
    })
    expect(await cursor.call('call_tool', { name: 'echo__pid' })).toMatchObject({ isError: true })
  })

  test('in search mode a modern agent finds and calls tools of both eras', async () => {
    const { service, key } = await setUp()
    await register(service, 'modern')
    await post(service, '/api/servers/modern/start')
    await selected(service, { tool_mode: 'search' })
    const cursor = await Agent.open(service, key, 'modern')
    const [listed] = (await cursor.ask('tools/list')).answers
    expect(listed?.result).toMatchObject({
      tools: [{ name: 'find_tools' }, { name: 'call_tool' }],
      ttlMs: 60_000,
    })
    const [found] = (await cursor.call('find_tools', { query: 'meta' })).answers
    expect(found?.result).toMatchObject({ resultType: 'complete', structuredContent: { total: 1 } })
    for (const server of ['echo', 'modern']) {
      const call = { name: `${server}__echo`, arguments: { text: `by ${server}` } }
      const [answer] = (await cursor.call('call_tool', call)).answers
      expect(answer?.result).toMatchObject({ resultType: 'complete' })
      expect(textOf(answer)).toContain(`by ${server}`)
    }
  })

  test('a call in search mode is counted for the called tool, and the metrics show the context tokens', async () => {
    const { service, key } = await setUp()
    const view = await selected(service, { tool_mode: 'search' })
    const cursor = await agent(service, key)
    await cursor.call('call_tool', { name: 'echo__pid' })
    const { items: tools } = (await service.inject('/api/metrics/tools')).json()
    expect(tools).toMatchObject([{ server_id: 'echo', tool: 'pid' }])
    const { items: agents } = (await service.inject('/api/metrics/agents')).json()
    expect(agents).toMatchObject([{ agent_type: 'cursor', context_tokens: view.visible.tokens }])
  })
})

describe('server settings', () => {
  test('disabled tools and aliases take effect at once, and the tool list shows them', async () => {
    const { service, key } = await setUp()
    const [all, alone] = [await agent(service, key), await agent(service, key, '/mcp/echo')]
    const tools = { pid: { enabled: false }, echo: { alias: 'say' } }
    const changed = await change(service, 'echo', { tools })
    expect(changed.json()).toMatchObject({
      tools: { pid: { enabled: false, alias: null }, echo: { enabled: true, alias: 'say' } },
    })
    const names = await all.names()
    expect(names).toContain('echo__say')
    expect(names).not.toContain('echo__pid')
    expect(await alone.names()).toEqual(expect.arrayContaining(['say', 'env', 'slow']))
    expect(JSON.stringify(await all.call('echo__say', { text: 'one' }))).toContain('one')
    expect(JSON.stringify(await alone.call('say', { text: 'two' }))).toContain('two')
    for (const name of ['echo__pid', 'echo__echo'])
      await expect(all.call(name, { text: 'x' })).rejects.toMatchObject(UNKNOWN)
    for (const name of ['pid', 'echo'])
      await expect(alone.call(name, { text: 'x' })).rejects.toMatchObject(UNKNOWN)
    const { items } = (await service.inject('/api/servers/echo/tools')).json<{ items: { name: string }[] }>()
    expect(items.find(({ name }) => name === 'pid')).toMatchObject({ enabled: false, gateway_name: null })
    expect(items.find(({ name }) => name === 'echo')).toMatchObject({
      enabled: true,
      gateway_name: 'echo__say',
    })
    expect(items.find(({ name }) => name === 'env')).toMatchObject({
      enabled: true,
      gateway_name: 'echo__env',
    })
  })

  test('a server that is no longer exposed disappears, and returns when it is exposed again', async () => {
    const { service, key } = await setUp()
    const cursor = await agent(service, key)
    await change(service, 'echo', { expose: false })
    expect((await cursor.names()).filter((name) => name.startsWith('echo__'))).toEqual([])
    await expect(agent(service, key, '/mcp/echo')).rejects.toThrow('Server not found')
    const { items } = (await service.inject('/api/servers/echo/tools')).json()
    expect(items[0]).toMatchObject({ enabled: true, gateway_name: null })
    expect((await read(service)).json().by_server).toMatchObject([{ server_id: 'noisy' }])
    await change(service, 'echo', { expose: true })
    expect(await cursor.names()).toContain('echo__echo')
  })
})
