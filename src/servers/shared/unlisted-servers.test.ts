import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { answerTo, bodyOf } from '../../../test/fixtures/http/tiny.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { Agent, type Era, newKey, textOf, toolsIn } from '../../../test/support/gateway.ts'
import { get, post, register, until } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'

const ERAS: readonly Era[] = ['legacy', 'modern']
const UNREACHABLE = { code: -32603, message: 'The network is unreachable' }

/** A server whose tools/list fails while a file exists. */
async function setUp(service: TestService) {
  const file = join(ownFolder(), 'broken')
  writeFileSync(file, '')
  await register(service, 'listing', [`--broken=${file}`])
  return {
    key: await newKey(service),
    breaks: () => writeFileSync(file, ''),
    heals: () => rmSync(file),
  }
}

/** What a call of `echo` returns, at both endpoints in both eras and over REST. */
async function echoes(service: TestService, key: string): Promise<(string | undefined)[]> {
  const args = { text: 'hello' }
  const rest = await post(service, '/api/servers/listing/tools/echo/call', { arguments: args })
  const texts = [rest.json().content?.[0]?.text]
  for (const era of ERAS) {
    for (const [path, name] of [
      ['/mcp', 'listing__echo'],
      ['/mcp/listing', 'echo'],
    ] as const) {
      const agent = await Agent.open(service, key, era, path)
      texts.push(textOf((await agent.call(name, args)).answers[0]))
    }
  }
  return texts
}
const ALL_HELLO = Array.from({ length: 5 }, () => 'hello')

test('a server that cannot list its tools after the handshake is running and degraded, its calls pass, and the list follows', async () => {
  const service = await openTestService()
  const { key, heals } = await setUp(service)
  const started = await post(service, '/api/servers/listing/start')
  expect(started.statusCode, started.body).toBe(200)
  const summary = expect.stringContaining('It rejected tools/list: The network is unreachable')
  expect(await get(service, 'listing')).toMatchObject({
    status: 'running',
    health: { level: 'degraded', summary, action: expect.stringContaining('requested again') },
    tool_count: null,
  })
  expect(await echoes(service, key)).toEqual(ALL_HELLO)
  for (const era of ERAS) {
    const agent = await Agent.open(service, key, era, '/mcp/listing')
    expect((await agent.ask('tools/list')).answers[0]?.error).toEqual(UNREACHABLE) // as without the gateway
  }
  const tools = await service.inject('/api/servers/listing/tools')
  expect(tools.statusCode).toBe(409)
  expect(tools.json().detail).toContain('The network is unreachable')

  heals()
  const healthy = await until(service, 'listing', ({ health }) => health.level === 'healthy')
  expect(healthy).toMatchObject({ status: 'running', tool_count: 3, restart_count: 0 })
  const agent = await Agent.open(service, key, 'legacy', '/mcp/listing')
  expect(toolsIn((await agent.ask('tools/list')).answers[0])).toEqual(['echo', 'grow', 'lists'])
})

test('a known server that cannot list its tools after a restart keeps its last list, and its calls pass', async () => {
  const service = await openTestService()
  const { key, breaks, heals } = await setUp(service)
  heals()
  await post(service, '/api/servers/listing/start')
  breaks()
  await post(service, '/api/servers/listing/restart')
  expect(await get(service, 'listing')).toMatchObject({
    status: 'running',
    health: { level: 'degraded' },
    tool_count: 3,
  })
  expect(await echoes(service, key)).toEqual(ALL_HELLO)
})

test('a tool that is disabled or hidden from an agent cannot be called while the tools of its server are not known', async () => {
  const service = await openTestService()
  const { key } = await setUp(service)
  await service.inject({
    method: 'PATCH',
    url: '/api/servers/listing',
    headers: AUTHORISED,
    payload: { tools: { echo: { enabled: false }, lists: { alias: 'count' } } },
  })
  await post(service, '/api/servers/listing/start')
  const agent = await Agent.open(service, key, 'legacy')
  for (const tool of ['echo', 'lists'])
    expect((await agent.call(`listing__${tool}`)).answers[0]?.error).toMatchObject({ code: -32602 })
  expect(textOf((await agent.call('listing__count')).answers[0])).toMatch(/^\d+$/)
})

test('an HTTP server that rejects tools/list is degraded, keeps its connection and its pending calls, and recovers', async () => {
  const state = { isBroken: true, handshakes: 0, release: () => {} }
  const server = createServer(async (request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end()
    const asked = await bodyOf(request)
    if (asked.id === undefined) return void response.writeHead(202).end()
    if (asked.method === 'initialize') state.handshakes += 1
    const send = (text: string) => response.writeHead(200, { 'content-type': 'application/json' }).end(text)
    if (asked.method === 'tools/list' && state.isBroken)
      return void send(JSON.stringify({ jsonrpc: '2.0', id: asked.id, error: UNREACHABLE }))
    if (asked.method === 'tools/call')
      await new Promise<void>((done) => Object.assign(state, { release: done }))
    send(answerTo(asked))
  }).listen(0, '127.0.0.1')
  onTestFinished(() => void server.close())
  await new Promise((resolve) => server.once('listening', resolve))
  const service = await openTestService({ env: { HTTP_CHECK_INTERVAL_S: '1' } })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  expect((await add(service, { name: 'far', url }, '/api/http-servers')).statusCode).toBe(201)
  const view = async () => (await service.inject('/api/http-servers/far')).json()
  await expect.poll(async () => (await view()).status, { timeout: 20_000 }).toBe('degraded')
  expect((await view()).health.summary).toContain('rejected tools/list: The network is unreachable')

  const agent = await Agent.open(service, await newKey(service), 'legacy', '/mcp/far')
  const call = agent.call('echo', { text: 'hello' })
  const checkedAt = (await view()).last_checked_at
  await expect.poll(async () => (await view()).last_checked_at, { timeout: 20_000 }).not.toBe(checkedAt)
  expect((await view()).status).toBe('degraded')
  state.release()
  expect(textOf((await call).answers[0])).toBe('hello')

  state.isBroken = false
  await expect.poll(async () => (await view()).status, { timeout: 20_000 }).toBe('connected')
  expect((await view()).tool_count).toBe(1)
  expect(state.handshakes).toBe(1)
}, 60_000)
