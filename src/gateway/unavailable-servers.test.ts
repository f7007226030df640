import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { Agent, callsStarted, newKey, textOf } from '../../test/support/gateway.ts'
import { get, post, register, until } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../test/support/test-service.ts'

const TIMEOUT_MS = 60_000

async function setUp(more: object = {}) {
  const service = await openTestService()
  await register(service, 'echo', [], more)
  await post(service, '/api/servers/echo/start')
  const key = await newKey(service)
  return { service, key }
}

/** Kills the server and waits for its restart delay, which grows with each crash in a row. There is none after the first. */
async function crash(service: TestService) {
  const { pid, restart_count } = await until(
    service,
    'echo',
    ({ status }) => status === 'running',
    TIMEOUT_MS,
  )
  process.kill(pid ?? 0, 'SIGKILL')
  if (restart_count > 0) return until(service, 'echo', ({ status }) => status === 'backoff', TIMEOUT_MS)
  await until(service, 'echo', (view) => view.status === 'running' && view.restart_count > 0, TIMEOUT_MS)
  return crash(service)
}

test('a call of an agent waits for the restart of a crashed server and does not trigger it earlier', async () => {
  const { service, key } = await setUp()
  const crashed = await crash(service)
  const apiCall = await post(service, '/api/servers/echo/tools/echo/call', { arguments: { text: 'hi' } })
  expect(apiCall.statusCode).toBe(409)
  expect(apiCall.json()).toMatchObject({ code: 'server_not_running' })
  const agents = [await Agent.open(service, key, 'modern'), await Agent.open(service, key, 'legacy')]
  const calls = agents.map((agent, at) => agent.call('echo__echo', { text: `still there ${at}` }))
  const replies = await Promise.all(calls)
  expect(replies.map(({ answers }) => textOf(answers[0]))).toEqual(['still there 0', 'still there 1'])
  const back = await get(service, 'echo')
  expect(back).toMatchObject({ status: 'running', restart_count: 2 })
  expect(Date.parse(back.started_at ?? '')).toBeGreaterThanOrEqual(Date.parse(crashed.next_retry_at ?? ''))
})

test('an agent that repeats a call right after the crash of the server gets a result', async () => {
  const { service, key } = await setUp()
  const agent = await Agent.open(service, key, 'modern')
  const { pid } = await get(service, 'echo')
  const started = await callsStarted(service)
  const lost = agent.call('echo__slow', { ms: 30_000 })
  await expect.poll(started).toBe(1)
  process.kill(pid ?? 0, 'SIGKILL')
  expect((await lost).answers[0]?.error).toMatchObject({ data: { code: 'call_failed' } })
  expect(textOf((await agent.call('echo__echo', { text: 'again' })).answers[0])).toBe('again')
})

test('a call that waits for a restart fails at once when the server is stopped', async () => {
  const { service, key } = await setUp()
  await crash(service)
  const { next_retry_at } = await crash(service) // the restart delay is at least 3.2 s
  const agent = await Agent.open(service, key, 'modern')
  const started = await callsStarted(service)
  const call = agent.call('echo__echo', { text: 'x' })
  await expect.poll(started).toBe(1)
  await post(service, '/api/servers/echo/stop')
  const { answers } = await call
  const message = expect.stringContaining('was stopped')
  expect(answers).toMatchObject([{ error: { message, data: { code: 'server_not_running' } } }])
  expect(Date.now()).toBeLessThan(Date.parse(next_retry_at ?? ''))
  expect((await get(service, 'echo')).status).toBe('stopped')
})

test('a call fails at once if the next start of the server is after its timeout, and says when it is', async () => {
  const { service, key } = await setUp({ timeouts: { start_s: 60, stop_s: 1, request_s: 1 } })
  const agent = await Agent.open(service, key, 'legacy')
  for (let n = 0; n < 2; n += 1) await crash(service) // the restart delay is at least 3.2 s
  const { answers } = await agent.call('echo__echo', { text: 'x' })
  const message = expect.stringMatching(
    /^'echo': The next start is in [1-5] s, after the timeout of this request\. .*SIGKILL/,
  )
  expect(answers[0]?.error).toMatchObject({ code: -32603, message, data: { code: 'start_timeout' } })
  expect((await get(service, 'echo')).status).toBe('backoff')
})

test('a call waits for a start no longer than its timeout', async () => {
  const service = await openTestService()
  const timeouts = { start_s: 60, stop_s: 1, request_s: 1 }
  await register(service, 'slow-handshake', ['--ms=600000'], { start_mode: 'on_demand', timeouts })
  const call = await post(service, '/api/servers/slow-handshake/tools/echo/call', {
    arguments: { text: 'x' },
  })
  expect(call.json()).toMatchObject({ code: 'start_timeout', detail: expect.stringContaining('within 1 s') })
})

test('a call to a server that is just going to sleep wakes it again', async () => {
  const service = await openTestService()
  await register(service, 'deaf', [], { start_mode: 'on_demand', idle_timeout_s: 1 })
  await post(service, '/api/servers/deaf/start')
  const agent = await Agent.open(service, await newKey(service), 'modern')
  await until(service, 'deaf', ({ status }) => status === 'stopping')
  expect(textOf((await agent.call('deaf__echo', { text: 'good morning' })).answers[0])).toBe('good morning')
})

const namesOf = async (agent: Agent): Promise<string[]> => {
  const { answers } = await agent.ask('tools/list', {})
  return (
    (answers[0]?.result as { tools: { name: string }[] } | undefined)?.tools.map(({ name }) => name) ?? []
  )
}

const TOOLS_CHANGED = 'notifications/tools/list_changed'
/** Earlier changes have been announced by then. The timers are those of this process, so they come first. */
const ANNOUNCED_MS = 300
const changesOf = (agent: Agent) => agent.received.filter(({ method }) => method === TOOLS_CHANGED).length

test('a sleeping server with unknown tools is started by the first tools/list of an agent that may use it, which does not wait', async () => {
  const service = await openTestService()
  await register(service, 'echo', [], { start_mode: 'on_demand' })
  await register(service, 'slow-handshake', ['--ms=1000'], { start_mode: 'on_demand' })
  const payload = { servers: ['echo'] }
  await service.inject({ method: 'PUT', url: '/api/agents/codex/tools', headers: AUTHORISED, payload })
  for (const url of ['/api/servers', '/api/servers/echo', '/api/servers/echo/tools'])
    await service.inject(url)
  await sleep(ANNOUNCED_MS)
  const limited = await Agent.open(service, await newKey(service, 'codex'), 'legacy')
  expect((await get(service, 'echo')).status).toBe('idle')
  expect(await namesOf(limited)).toEqual([])
  await expect.poll(() => changesOf(limited), { timeout: TIMEOUT_MS }).toBeGreaterThan(0)
  expect(await namesOf(limited)).toContain('echo__echo')
  expect((await get(service, 'slow-handshake')).status).toBe('idle')
  const agent = await Agent.open(service, await newKey(service), 'modern')
  const names = await namesOf(agent)
  expect(names).toContain('echo__echo')
  expect(names).not.toContain('slow-handshake__echo')
  await until(service, 'slow-handshake', ({ status }) => status === 'running')
  expect(await namesOf(agent)).toContain('slow-handshake__echo')
})

test('what a person stopped is not offered, and a call of it is refused with server_stopped until it is started again', async () => {
  const { service, key } = await setUp({ tools: { pid: { alias: 'who' } } })
  await sleep(ANNOUNCED_MS)
  const agents = [await Agent.open(service, key, 'legacy'), await Agent.open(service, key, 'modern')]
  const alone = await Agent.open(service, key, 'legacy', '/mcp/echo')
  const [legacy] = agents
  expect(await namesOf(alone)).toContain('who')
  await post(service, '/api/servers/echo/stop')
  await expect.poll(() => [legacy, alone].map((agent) => agent && changesOf(agent))).toEqual([1, 1])
  const refused = {
    message: "'echo' is stopped, and only a person can start it",
    data: { code: 'server_stopped', hint: 'Start it in Toolroom, or run: toolroom start echo' },
  }
  for (const agent of agents) {
    expect(await namesOf(agent)).toEqual([])
    for (const tool of ['echo__echo', 'echo__who'])
      expect((await agent.call(tool)).answers[0]?.error, tool).toMatchObject(refused)
  }
  expect(await namesOf(alone)).toEqual([])
  expect((await alone.call('who')).answers[0]?.error).toMatchObject(refused)
  const { pid: _, ...stopped } = await get(service, 'echo')
  expect(stopped).toMatchObject({ status: 'stopped', desired_state: 'stopped', tool_count: 4 })
  await post(service, '/api/servers/echo/start')
  for (const agent of agents) {
    await expect.poll(() => namesOf(agent)).toContain('echo__who')
    expect(textOf((await agent.call('echo__echo', { text: 'back' })).answers[0])).toBe('back')
  }
  expect(textOf((await alone.call('who')).answers[0])).toMatch(/^\d+$/)
})

test('an on-demand server that exits and is not restarted is asleep, and the next call starts it', async () => {
  const service = await openTestService()
  const onDemand = { start_mode: 'on_demand', restart: { policy: 'never' } }
  await register(service, 'echo', [], onDemand)
  await post(service, '/api/servers/echo/start')
  const { pid } = await get(service, 'echo')
  process.kill(pid ?? 0, 'SIGKILL')
  const ended = await until(service, 'echo', ({ status }) => status === 'idle')
  expect(ended).toMatchObject({
    desired_state: 'running',
    last_error: { code: 'killed' },
    health: { level: 'unhealthy', summary: expect.stringContaining('SIGKILL') },
  })
  const agent = await Agent.open(service, await newKey(service), 'modern')
  expect(textOf((await agent.call('echo__echo', { text: 'hi' })).answers[0])).toBe('hi')
})

test('a server that never completes its handshake delays no tools/list', async () => {
  const service = await openTestService()
  const agent = await Agent.open(service, await newKey(service), 'modern')
  await register(service, 'slow-handshake', ['--ms=60000'], { start_mode: 'on_demand' })
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  expect(await namesOf(agent)).toContain('echo__echo')
  expect((await get(service, 'slow-handshake')).status).toBe('starting')
})

/** The error of a tools/list and of a tools/call at the endpoint of one server, in both eras, with the id of the request. */
async function errorsAt(service: TestService, path: string) {
  const key = await newKey(service)
  const errors: unknown[] = []
  for (const era of ['legacy', 'modern'] as const) {
    const agent = await Agent.open(service, key, era, path)
    for (const reply of [await agent.ask('tools/list'), await agent.call('echo', {})])
      errors.push(reply.answers[0]?.error)
  }
  return errors
}
const FOUR = [1, 2, 3, 4]

test('a server that was never started says so at its endpoint, and what to do', async () => {
  const service = await openTestService()
  await register(service, 'echo')
  const error = {
    message: "'echo' is stopped, and only a person can start it",
    data: { code: 'server_stopped', hint: 'Start it in Toolroom, or run: toolroom start echo' },
  }
  expect(await errorsAt(service, '/mcp/echo')).toMatchObject(FOUR.map(() => error))
  const agent = await Agent.open(service, await newKey(service), 'legacy')
  expect((await agent.call('echo__echo', {})).answers[0]?.error).toMatchObject(error)
})

test('a server that never started successfully says at its endpoint why, and when it is started again', async () => {
  const service = await openTestService()
  const timeouts = { start_s: 10, stop_s: 1, request_s: 1 }
  await register(service, 'crash', [], { timeouts })
  void post(service, '/api/servers/crash/start')
  await until(service, 'crash', ({ restart_count }) => restart_count >= 2)
  for (const error of await errorsAt(service, '/mcp/crash'))
    expect(error).toMatchObject({
      message: expect.stringMatching(/^'crash'/),
      data: { code: expect.any(String) },
    })
})

test('a sleeping server that was never started is started by the first tools/list at its endpoint, however long that takes', async () => {
  const service = await openTestService()
  await register(service, 'slow-handshake', ['--ms=2500'], { start_mode: 'on_demand' })
  const agent = await Agent.open(service, await newKey(service), 'modern', '/mcp/slow-handshake')
  expect(await namesOf(agent)).toContain('echo')
})

test.each([
  ['does not exist', '/mcp/nothing', 'Server not found: this agent may use no server', 'not_found'],
  ['is disabled', '/mcp/far', "The server 'far' is disabled", 'server_not_running'],
] as const)(
  'a request to a server that %s gets 404 with its id, the reason and a hint',
  async (_, path, message, code) => {
    const service = await openTestService()
    await post(service, '/api/http-servers', { name: 'far', url: 'http://127.0.0.1:9/mcp', enabled: false })
    const key = await newKey(service)
    for (const era of ['legacy', 'modern'] as const) {
      const agent = await Agent.open(service, key, era, '/mcp')
      const reply = await fetch(service.address + path, {
        method: 'POST',
        headers: { ...agent.headers, 'content-type': 'application/json' },
        body: JSON.stringify({ jsonrpc: '2.0', id: 'seven', method: 'tools/list', params: {} }),
      })
      expect(reply.status).toBe(404)
      expect(await reply.json()).toMatchObject({
        id: 'seven',
        error: { message: expect.stringContaining(message), data: { code, hint: expect.any(String) } },
      })
    }
  },
)
