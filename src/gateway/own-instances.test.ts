import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { AnsweringAgent } from '../../test/support/answering-agent.ts'
import { modernRequest } from '../../test/support/event-streams.ts'
import { ownFolder } from '../../test/support/folder.ts'
import { newKey } from '../../test/support/gateway.ts'
import { definition, get, post } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../test/support/test-service.ts'

const ALL = {
  elicitation: {},
  sampling: { tools: {} },
  roots: { listChanged: true },
  experimental: { x: {} },
}

async function setUp(settings: object = { sharing: 'per_session' }) {
  const service = await openTestService()
  const added = await post(service, '/api/servers', { ...definition('asker'), ...settings })
  expect(added.statusCode, added.body).toBe(201)
  await post(service, '/api/servers/asker/start')
  const key = await newKey(service)
  const open = (name: string, path = '/mcp/asker', capabilities: object = ALL) =>
    AnsweringAgent.legacy(name, { address: service.address, key, path }, capabilities)
  const instances = async () => (await get(service, 'asker')).instances
  return { service, key, open, instances }
}

const whoami = async (agent: AnsweringAgent, tool = 'whoami') =>
  JSON.parse(await agent.call(tool)) as { pid: number; declared: Record<string, unknown> }

const isAlive = (pid: number) => existsSync(`/proc/${pid}`)

describe('sharing: per_session', () => {
  test('each session has a process of its own, which gets the capabilities, the version and the name of its client', async () => {
    const { open, instances } = await setUp()
    const [alice, bob] = [await open('alice'), await open('bob', '/mcp', { roots: {} })]
    const [ofAlice, ofBob] = [await whoami(alice), await whoami(bob, 'asker__whoami')]
    expect(ofAlice.pid).not.toBe(ofBob.pid)
    expect(ofAlice.declared).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: ALL,
      clientInfo: { name: 'alice', version: '1' },
    })
    expect(ofBob.declared).toMatchObject({ capabilities: { roots: {} }, clientInfo: { name: 'bob' } })
    expect(await instances()).toMatchObject([
      { id: 'shared', session_id: null },
      { pid: ofAlice.pid, agent_type: 'cursor', session_id: expect.any(String) },
      { pid: ofBob.pid, agent_type: 'cursor', session_id: expect.any(String) },
    ])
  })

  test('a call with a log level whose process does not start gets the reason, and is recorded', async () => {
    const service = await openTestService()
    const broken = join(ownFolder(), 'broken')
    const { args } = definition('echo')
    const script = `if (require('fs').existsSync(process.argv[1])) process.exit(3); import(process.argv[2])`
    const twice = { name: 'twice', command: process.execPath, args: ['-e', script, broken, ...args] }
    await post(service, '/api/servers', { ...twice, sharing: 'per_session' })
    expect((await post(service, '/api/servers/twice/start')).statusCode).toBe(200)
    writeFileSync(broken, '')
    const endpoint = { address: service.address, key: await newKey(service), path: '/mcp/twice' }
    const meta = { 'io.modelcontextprotocol/logLevel': 'info' }
    const call = modernRequest(endpoint, 'tools/call', { name: 'echo', arguments: { text: 'x' } }, { meta })
    await call.closed()
    expect(call.response?.error?.message).toContain('exited with code 3')
    const calls = async () => (await service.inject({ url: '/api/calls', headers: AUTHORISED })).json().items
    await expect.poll(calls).toMatchObject([{ tool: 'echo', status: 'error' }])
  })

  test('at /mcp/{server_id} the handshake, unknown capabilities, methods and params of a call are those of the server', async () => {
    const { open } = await setUp()
    const alice = await open('alice')
    expect(alice.initialized).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: { tools: { listChanged: true }, logging: {}, experimental: { vendor: { odd: true } } },
      serverInfo: { name: 'asker', version: '1.0.0', title: 'The asker' },
    })
    const { result } = await alice.request('vendor/method', { some: ['thing'] })
    expect(result).toEqual({ got: { some: ['thing'] } })
    const unknown = await alice.request('vendor/unknown')
    expect(unknown.error).toMatchObject({ code: -32601, message: 'Method not found: vendor/unknown' })
    expect(JSON.parse(await alice.call('params', {}, { task: { ttl: 1 }, other: 2 }))).toMatchObject({
      task: { ttl: 1 },
      other: 2,
    })
  })

  test('roots of a client reach its own process, and a change of them is announced to it', async () => {
    const { open } = await setUp()
    const [alice, bob] = [await open('alice'), await open('bob')]
    expect(JSON.parse(await alice.call('roots', { who: 'alice' })).roots[0].name).toBe('alice')
    expect(JSON.parse(await bob.call('roots', { who: 'bob' })).roots[0].name).toBe('bob')
    await alice.notify('notifications/roots/list_changed')
    const notified = async (agent: AnsweringAgent) => JSON.parse(await agent.call('notified'))
    await expect
      .poll(() => notified(alice))
      .toEqual(['notifications/initialized', 'notifications/roots/list_changed'])
    expect(await notified(bob)).toEqual(['notifications/initialized'])
  })

  test('the process of a session ends with the session, and all of them end when the server is stopped', async () => {
    const { service, open, instances } = await setUp()
    const [alice, bob] = [await open('alice'), await open('bob')]
    const [ofAlice, ofBob] = [await whoami(alice), await whoami(bob)]
    await alice.end()
    await expect.poll(() => isAlive(ofAlice.pid)).toBe(false)
    expect(isAlive(ofBob.pid)).toBe(true)
    expect((await instances()).map(({ pid }) => pid)).not.toContain(ofAlice.pid)
    expect((await post(service, '/api/servers/asker/stop')).statusCode).toBe(200)
    expect(isAlive(ofBob.pid)).toBe(false)
    expect(await instances()).toEqual([])
    expect(await bob.call('whoami')).toContain("'asker' is stopped")
    await post(service, '/api/servers/asker/start')
    expect((await whoami(bob)).pid).not.toBe(ofBob.pid)
  })

  test('an instance ends when it is idle, and the next call of its session starts another one', async () => {
    const { open } = await setUp({ sharing: 'per_session', idle_timeout_s: 1 })
    const alice = await open('alice')
    const { pid } = await whoami(alice)
    await expect.poll(() => isAlive(pid)).toBe(false)
    expect((await whoami(alice)).pid).not.toBe(pid)
  })

  test('a process that crashed is started again by the next call of its session', async () => {
    const { open } = await setUp()
    const alice = await open('alice')
    const { pid } = await whoami(alice)
    process.kill(pid, 'SIGKILL')
    await expect.poll(() => isAlive(pid)).toBe(false)
    await expect.poll(async () => JSON.parse(await alice.call('whoami')).pid ?? pid).not.toBe(pid)
  })

  test('at max_instances the longest unused instance ends, and a session waits for its turn while all are busy', async () => {
    const { open, instances } = await setUp({ sharing: 'per_session', max_instances: 2 })
    const [alice, bob, carol] = [await open('alice'), await open('bob'), await open('carol', '/mcp')]
    const [ofAlice, ofBob] = [await whoami(alice), await whoami(bob)]
    await carol.call('asker__whoami')
    expect(isAlive(ofBob.pid)).toBe(true)
    await expect.poll(() => isAlive(ofAlice.pid)).toBe(false)
    expect(await instances()).toHaveLength(3)
    const ends: string[] = []
    const busy = [bob.call('wait', { ms: 1000 }), carol.call('asker__wait', { ms: 1000 })]
    for (const each of busy) void each.then((text) => ends.push(text))
    expect((await whoami(alice)).pid).toBeGreaterThan(0)
    expect(ends).toContain('waited')
    await Promise.all(busy)
  })

  test('log lines name the instance that wrote them', async () => {
    const { service, open, instances } = await setUp()
    await (await open('alice')).call('say', { line: 'a line of alice' })
    const number = (await instances()).at(-1)?.id
    await expect
      .poll(async () => (await service.inject('/api/logs?server_id=asker&search=alice')).json().items)
      .toMatchObject([{ message: 'a line of alice', data: { instance: number } }])
  })

  test('the memory of a server is the sum of its processes', async () => {
    const { service, open } = await setUp()
    await whoami(await open('alice'))
    await expect
      .poll(async () => {
        const { resources, instances } = await get(service, 'asker')
        const parts = instances.map((instance) => instance.resources?.rss_bytes ?? 0)
        const sum = parts.reduce((total, part) => total + part, 0)
        return parts.length === 2 && parts.every(Boolean) && sum === resources?.rss_bytes
      })
      .toBe(true)
  })
})

describe('sharing: per_agent', () => {
  test('sessions of one agent share a process that other agents do not use', async () => {
    const { service, key, instances } = await setUp({ sharing: 'per_agent' })
    const endpoint = (of: string) => ({ address: service.address, key: of, path: '/mcp' })
    const other = await newKey(service, 'codex')
    const [one, two, three] = [
      await AnsweringAgent.legacy('one', endpoint(key), ALL),
      await AnsweringAgent.legacy('two', endpoint(key), ALL),
      await AnsweringAgent.legacy('three', endpoint(other), ALL),
    ]
    const pids = [one, two, three].map(async (agent) => (await whoami(agent, 'asker__whoami')).pid)
    const [first, second, third] = await Promise.all(pids)
    expect(first).toBe(second)
    expect(third).not.toBe(first)
    expect((await instances()).map(({ agent_type }) => agent_type)).toEqual([null, 'cursor', 'codex'])
    expect(JSON.parse(await one.call('asker__elicit', { who: 'one' })).content.name).toBe('one')
  })
})

describe('sharing: auto', () => {
  test('clients share a server until it asks one of them, and the reason is kept across restarts of Toolroom', async () => {
    const { service, open, instances } = await setUp({})
    const [alice, bob] = [await open('alice'), await open('bob', '/mcp')]
    expect((await whoami(alice)).pid).toBe((await whoami(bob, 'asker__whoami')).pid)
    expect(await instances()).toHaveLength(1)
    expect((await get(service, 'asker')).sharing_reason).toBeNull()
    expect(JSON.parse(await alice.call('elicit', { who: 'alice' })).content.name).toBe('alice')
    expect((await get(service, 'asker')).sharing_reason).toBe('It asked its client for input')
    const carol = await open('carol')
    const { pid } = await whoami(carol)
    expect((await instances()).map((each) => each.pid)).toContain(pid)
    // A session that has used the shared process stays with it.
    expect((await whoami(alice)).pid).not.toBe(pid)
    expect(await instances()).toHaveLength(2)
    await service.close()
    const again = await openTestService({ home: service.home })
    expect((await get(again, 'asker')).sharing_reason).toBe('It asked its client for input')
  })

  test('many sessions that are asked at once all get their answers, one after another in the same few instances', async () => {
    const { service, open } = await setUp({ max_instances: 2 })
    await (await open('first')).call('elicit', { who: 'first' })
    const agents = await Promise.all(['a1', 'a2', 'a3', 'a4', 'a5', 'a6'].map((name) => open(name)))
    const answers = agents.map((agent) => agent.call('elicit', { who: agent.name, pause: 50 }))
    const names = (await Promise.all(answers)).map((text) => JSON.parse(text).content?.name)
    expect(names).toEqual(agents.map(({ name }) => name))
    expect(agents.flatMap(({ misrouted }) => misrouted)).toEqual([])
    expect((await get(service, 'asker')).instances.length).toBeLessThanOrEqual(3)
  })

  test('first questions that overlap are refused with the advice to call again, which works', async () => {
    const { open } = await setUp({})
    const agents = [await open('alice'), await open('bob')]
    const ask = () =>
      Promise.all(agents.map((agent) => agent.call('elicit', { who: agent.name, pause: 500 })))
    const first = await ask()
    expect(first.join()).toContain('Call the tool again')
    const answered = (await ask()).map((text) => JSON.parse(text).content.name)
    expect(answered).toEqual(['alice', 'bob'])
  })

  test('a server that logs during a call, or announces tasks, depends on its client', async () => {
    const { service, open } = await setUp({})
    await (await open('alice')).call('log', { who: 'alice' })
    await expect
      .poll(async () => (await get(service, 'asker')).sharing_reason)
      .toBe('It sent log messages during a call')
    const tasks = { ...definition('asker', ['--tasks']), name: 'worker' }
    await post(service, '/api/servers', tasks)
    await post(service, '/api/servers/worker/start')
    expect((await get(service, 'worker')).sharing_reason).toBe('It announces tasks')
  })
})
