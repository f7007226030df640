import { randomUUID } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { covers } from '../../../test/support/covers.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { definition, get, post, register, until } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'
import type { ServerView } from './servers.schema.ts'

const patch = (service: Awaited<ReturnType<typeof openTestService>>, id: string, payload: object) =>
  service.inject({ method: 'PATCH', url: `/api/servers/${id}`, headers: AUTHORISED, payload })

describe('start and stop', () => {
  test('start answers when the tools are listed, and stop answers when the process has exited', async () => {
    covers('does-start-stop', 'states-start-stop', 'servers-start', 'servers-stop', 'states-names')
    covers('states-transitions')
    const service = await openTestService()
    expect(await register(service, 'echo')).toMatchObject({
      status: 'stopped',
      desired_state: 'stopped',
      health: { level: 'unknown', summary: 'Stopped', action: null },
      pid: null,
      tool_count: null,
      last_error: null,
    })
    const started = await post(service, '/api/servers/echo/start')
    expect(started.statusCode, started.body).toBe(200)
    expect(started.json()).toMatchObject({
      status: 'running',
      desired_state: 'running',
      health: { level: 'healthy', summary: 'Running with 4 tools', action: null },
      pid: expect.any(Number),
      started_at: expect.stringMatching(/Z$/),
      restart_count: 0,
      protocol_version: '2025-11-25',
      server_info: { name: 'echo', version: '1.0.0' },
      tool_count: 4,
      tool_tokens: expect.any(Number),
      log_lines_dropped: 0,
    })
    const again = await post(service, '/api/servers/echo/start')
    expect(again.json()).toMatchObject({ status: 'running', pid: started.json().pid })
    const stopped = await post(service, '/api/servers/echo/stop')
    expect(stopped.statusCode).toBe(200)
    expect(stopped.json()).toMatchObject({
      status: 'stopped',
      desired_state: 'stopped',
      pid: null,
      last_exit: { code: 0, signal: null },
    })
    expect(() => process.kill(started.json().pid, 0)).toThrow()
    expect((await post(service, '/api/servers/echo/stop')).json()).toMatchObject({ status: 'stopped' })
  })

  test('fifty concurrent starts create one process', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    const replies = await Promise.all(
      Array.from({ length: 50 }, () => post(service, '/api/servers/echo/start')),
    )
    expect(replies.map(({ statusCode }) => statusCode)).toEqual(Array(50).fill(200))
    expect(new Set(replies.map((reply) => reply.json().pid)).size).toBe(1)
  })

  test('start, stop and restart require the token, and an unknown id is answered with 404', async () => {
    covers('protected-servers-start', 'protected-servers-stop')
    const service = await openTestService()
    await register(service, 'echo')
    for (const action of ['start', 'stop', 'restart']) {
      const url = `/api/servers/echo/${action}`
      expect((await service.inject({ method: 'POST', url })).json()).toMatchObject({
        status: 401,
        detail: "Missing authentication token in 'X-SVC-Token' header",
      })
      expect((await post(service, `/api/servers/unknown/${action}`)).statusCode).toBe(404)
    }
    expect(await get(service, 'echo')).toMatchObject({ status: 'stopped' })
  })

  test('start with wait_s=0 answers 202, and a stop during the start wins', async () => {
    const service = await openTestService()
    await register(service, 'slow-handshake', ['--ms=60000'])
    const started = await post(service, '/api/servers/slow-handshake/start?wait_s=0')
    expect(started.statusCode).toBe(202)
    expect(started.json()).toMatchObject({ status: 'starting', health: { summary: 'Starting' } })
    const waiting = post(service, '/api/servers/slow-handshake/start')
    await sleep(100)
    expect((await post(service, '/api/servers/slow-handshake/stop')).json()).toMatchObject({
      status: 'stopped',
    })
    expect((await waiting).json()).toMatchObject({
      status: 409,
      code: 'server_not_running',
      detail: "'slow-handshake' was stopped while it started",
    })
  })

  test('the start of a server that does not answer within start_s is answered with 504 and its stderr', async () => {
    const service = await openTestService()
    await register(service, 'slow-handshake', ['--ms=60000'], { timeouts: { start_s: 1, stop_s: 1 } })
    const started = await post(service, '/api/servers/slow-handshake/start')
    expect(started.json()).toMatchObject({
      status: 504,
      code: 'start_timeout',
      last_error: { code: 'start_timeout', hint: expect.any(String) },
      stderr_tail: expect.any(Array),
    })
    expect(await get(service, 'slow-handshake')).toMatchObject({
      status: 'backoff',
      next_retry_at: expect.any(String),
      health: { level: 'unhealthy' },
    })
  })

  test('the start of a missing program is answered with 502 and is not retried', async () => {
    const service = await openTestService()
    await add(service, { name: 'ghost', command: 'no-such-program-anywhere' })
    const started = await post(service, '/api/servers/ghost/start')
    expect(started.json()).toMatchObject({
      status: 502,
      code: 'server_start_failed',
      detail: expect.stringContaining('no-such-program-anywhere'),
      last_error: { code: 'command_not_found' },
    })
    expect(await get(service, 'ghost')).toMatchObject({
      status: 'failed',
      next_retry_at: null,
      health: { level: 'unhealthy', action: expect.any(String) },
    })
    await post(service, '/api/servers/ghost/stop')
    expect(await get(service, 'ghost')).toMatchObject({ status: 'stopped', last_error: null })
  })

  test('restart replaces the process', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    const first = (await post(service, '/api/servers/echo/start')).json().pid
    const second = await post(service, '/api/servers/echo/restart')
    expect(second.json()).toMatchObject({ status: 'running', restart_count: 0 })
    expect(second.json().pid).not.toBe(first)
    expect(() => process.kill(first, 0)).toThrow()
  })
})

describe('tools', () => {
  test('the tools of a running server are live, and those of a stopped one cached, even after a restart of Toolroom', async () => {
    covers('does-list-tools', 'servers-tools', 'open-auth-servers-tools')
    const first = await openTestService()
    await register(first, 'echo', [], { start_mode: 'on_demand' })
    expect((await first.inject('/api/servers/echo/tools')).json()).toMatchObject({
      status: 409,
      code: 'server_not_running',
    })
    expect((await first.inject('/api/servers/unknown/tools')).statusCode).toBe(404)
    await post(first, '/api/servers/echo/start')
    const live = (await first.inject('/api/servers/echo/tools')).json()
    expect(live).toMatchObject({
      source: 'live',
      total: 4,
      next_cursor: null,
      truncated: false,
      duplicates: 0,
    })
    expect(live.items[0]).toEqual({
      name: 'echo',
      title: null,
      description: 'The tool echo',
      input_schema: { type: 'object', properties: { text: { type: 'string' } }, required: [] },
      output_schema: null,
      annotations: null,
      enabled: true,
      gateway_name: 'echo__echo',
      app_uri: null,
      tokens: expect.any(Number),
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
      state: 'ok',
      change: null,
    })
    await first.close()
    const second = await openTestService({ home: first.home })
    const cached = (await second.inject('/api/servers/echo/tools')).json()
    expect(cached).toEqual({ ...live, source: 'cache' })
    expect(await get(second, 'echo')).toMatchObject({ status: 'idle', tool_count: 4 })
  })

  test('secrets in tool definitions, server info and stderr are masked', async () => {
    const service = await openTestService()
    const secret = `canary-${randomUUID()}`
    await register(service, 'leaky', [], { env: { MY_SECRET: secret } })
    const started = await post(service, '/api/servers/leaky/start')
    expect(started.json()).toMatchObject({ server_info: { name: 'MY_SECRET is ***' } })
    const tools = await service.inject('/api/servers/leaky/tools')
    expect(tools.json().items[0]).toMatchObject({ description: 'MY_SECRET is ***' })
    const stopped = await post(service, '/api/servers/leaky/stop')
    expect(stopped.json().last_exit.stderr_tail.at(-1)).toBe('the end, MY_SECRET is ***')
    expect(started.body + tools.body + stopped.body).not.toContain(secret)
  })
})

describe('calls', () => {
  test('the result of a call has the bytes that the server sent', async () => {
    const service = await openTestService()
    await register(service, 'odd-result')
    await post(service, '/api/servers/odd-result/start')
    const reply = await post(service, '/api/servers/odd-result/tools/odd/call', { arguments: {} })
    expect(reply.statusCode, reply.body).toBe(200)
    expect(reply.headers['content-type']).toContain('application/json')
    expect(reply.body).toBe(
      '{"content":[],"isError":true, "n":1.0,"big":12345678901234567890,"x":{"unknown":[null]},"u":"\\u00e9"}',
    )
  })

  test('a call of an unknown tool is answered with 404, and of a stopped server with 409', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    const call = (tool: string) => post(service, `/api/servers/echo/tools/${tool}/call`, {})
    expect((await call('echo')).json()).toMatchObject({ status: 409, code: 'server_stopped' })
    await post(service, '/api/servers/echo/start')
    expect((await call('nothing')).json()).toMatchObject({ status: 404, code: 'not_found' })
    await post(service, '/api/servers/echo/stop')
    expect((await call('echo')).json()).toMatchObject({ status: 409 })
    const open = await service.inject({
      method: 'POST',
      url: '/api/servers/echo/tools/echo/call',
      payload: {},
    })
    expect(open.statusCode).toBe(401)
  })

  test('a call that times out is answered with 504, and one whose server crashes with 502 at once', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    const { pid } = (await post(service, '/api/servers/echo/start')).json()
    const slow = { arguments: { ms: 60_000 } }
    const late = await post(service, '/api/servers/echo/tools/slow/call', { ...slow, timeout_s: 1 })
    expect(late.json()).toMatchObject({ status: 504, code: 'call_timeout' })
    const lost = post(service, '/api/servers/echo/tools/slow/call', slow)
    await sleep(100)
    process.kill(pid, 'SIGKILL')
    expect((await lost).json()).toMatchObject({ status: 502, code: 'call_failed' }) // at its timeout: 504
  })

  test('a call passes its arguments to the tool and returns the result', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    await post(service, '/api/servers/echo/start')
    const reply = await post(service, '/api/servers/echo/tools/echo/call', { arguments: { text: 'hi' } })
    expect(reply.json()).toEqual({ content: [{ type: 'text', text: 'hi' }] })
  })
})

describe('eras', () => {
  test('a modern server is detected, called, and known as modern after a restart of Toolroom', async () => {
    const service = await openTestService()
    await register(service, 'modern')
    const first = await post(service, '/api/servers/modern/start')
    expect(first.json()).toMatchObject({ status: 'running', protocol_version: '2026-07-28' })
    const tools = (await service.inject('/api/servers/modern/tools')).json()
    expect(tools.items.length).toBeGreaterThan(0)
    const url = '/api/servers/modern/tools/echo/call'
    const call = await post(service, url, { arguments: { text: 'hi' } })
    expect(call.json()).toMatchObject({ content: [{ text: 'hi' }] })
    await service.close()
    const again = await openTestService({ home: service.home })
    expect((await post(again, '/api/servers/modern/start')).json()).toMatchObject({
      protocol_version: '2026-07-28',
    })
  })
})

describe('leaked processes', () => {
  test('leaked processes are listed only with the token', async () => {
    const service = await openTestService()
    const url = '/api/processes/orphans'
    expect((await service.inject(url)).statusCode).toBe(401)
    expect((await service.inject({ url, headers: AUTHORISED })).json()).toMatchObject({
      items: expect.any(Array),
      next_cursor: null,
    })
  })
})

describe('on demand', () => {
  const onDemand = { start_mode: 'on_demand', idle_timeout_s: 1 }

  test('an on-demand server is woken by a call and sleeps again, with its tools still listed', async () => {
    const service = await openTestService()
    expect(await register(service, 'echo', [], onDemand)).toMatchObject({
      status: 'idle',
      desired_state: 'running',
    })
    const reply = await post(service, '/api/servers/echo/tools/pid/call', {})
    expect(reply.statusCode, reply.body).toBe(200)
    expect(await get(service, 'echo')).toMatchObject({ status: 'running' })
    const asleep = await until(service, 'echo', ({ status }) => status === 'idle')
    expect(asleep).toMatchObject({
      tool_count: 4,
      health: { level: 'healthy', summary: 'Asleep with 4 tools; a call wakes it' },
    })
    expect((await service.inject('/api/servers/echo/tools')).json()).toMatchObject({ source: 'cache' })
    const woken = await Promise.all(
      Array.from({ length: 10 }, () => post(service, '/api/servers/echo/tools/pid/call', {})),
    )
    expect(new Set(woken.map(({ body }) => body)).size).toBe(1)
  })

  test('an on-demand server does not sleep during a call', async () => {
    const service = await openTestService()
    await register(service, 'echo', [], onDemand)
    const reply = await post(service, '/api/servers/echo/tools/slow/call', { arguments: { ms: 1800 } })
    expect(reply.json()).toMatchObject({ content: [{ text: 'waited 1800' }] })
  })

  test('an on-demand server that a user stopped is not woken by calls, and stays stopped after a restart of Toolroom', async () => {
    const service = await openTestService()
    await register(service, 'echo', [], onDemand)
    await post(service, '/api/servers/echo/stop')
    expect((await post(service, '/api/servers/echo/tools/pid/call', {})).statusCode).toBe(409)
    await service.close()
    const again = await openTestService({ home: service.home })
    expect(await get(again, 'echo')).toMatchObject({ status: 'stopped', desired_state: 'stopped' })
  })
})

describe('start of Toolroom', () => {
  test('eager servers start with Toolroom unless a user stopped them, manual ones if a user had started them, and the others sleep', async () => {
    const service = await openTestService()
    await register(service, 'echo', [], { name: 'one', auto_start: true, start_mode: undefined })
    await register(service, 'echo', [], { name: 'two', start_mode: 'eager' })
    await register(service, 'echo', [], { name: 'three' })
    await register(service, 'echo', [], { name: 'four', start_mode: undefined })
    await register(service, 'echo', [], { name: 'five' })
    await post(service, '/api/servers/two/start')
    await post(service, '/api/servers/two/stop')
    await post(service, '/api/servers/three/start')
    await service.close()
    const again = await openTestService({ home: service.home })
    await until(again, 'one', ({ status }) => status === 'running')
    expect(await get(again, 'one')).toMatchObject({ auto_start: true, start_mode: 'eager' })
    expect(await get(again, 'two')).toMatchObject({ status: 'stopped', desired_state: 'stopped' })
    await until(again, 'three', ({ status }) => status === 'running')
    expect(await get(again, 'four')).toMatchObject({ status: 'idle', start_mode: 'on_demand' })
    expect(await get(again, 'five')).toMatchObject({ status: 'stopped', desired_state: 'stopped' })
  })
})

describe('update', () => {
  test('an update restarts a running server only when its command, args, env or cwd has changed', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    const { pid } = (await post(service, '/api/servers/echo/start')).json()
    const unaffected = await patch(service, 'echo', {
      description: 'x',
      restart: { policy: 'always' },
      tags: ['a'],
    })
    expect(unaffected.json()).toMatchObject({
      pid,
      restart: { policy: 'always', max_delay_s: 300 },
      timeouts: { start_s: 60, request_s: null, stop_s: 1 },
    })
    await patch(service, 'echo', { env: { COLOUR: 'blue' } })
    const after = await until(service, 'echo', (it) => it.status === 'running' && it.pid !== pid)
    const names = await post(service, '/api/servers/echo/tools/env/call', {})
    expect(names.body).toContain('COLOUR')
    expect(after.desired_state).toBe('running')
    expect(() => process.kill(pid, 0)).toThrow()
  })

  test('an update does not start a stopped server', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    await patch(service, 'echo', { env: { A: 'b' }, start_mode: 'eager' })
    await sleep(100)
    expect(await get(service, 'echo')).toMatchObject({ status: 'stopped', desired_state: 'running' })
    expect((await patch(service, 'echo', { auto_start: false })).json()).toMatchObject({
      start_mode: 'on_demand',
      status: 'idle',
    })
    expect((await patch(service, 'echo', { start_mode: 'manual' })).json()).toMatchObject({
      status: 'stopped',
    })
    expect((await patch(service, 'echo', { auto_start: false })).json()).toMatchObject({
      start_mode: 'manual',
    })
    await post(service, '/api/servers/echo/start')
    await patch(service, 'echo', { start_mode: 'on_demand' })
    expect((await patch(service, 'echo', { start_mode: 'manual' })).json()).toMatchObject({
      status: 'running',
      desired_state: 'running',
    })
  })

  const empty = sharedByTests(() => openTestService())

  test.each([
    [{ auto_start: true, start_mode: 'manual' }, '/auto_start'],
    [{ auto_start: false, start_mode: 'eager' }, '/auto_start'],
    [{ timeouts: { start_s: 0 } }, '/timeouts/start_s'],
    [{ timeouts: { stop_s: 61 } }, '/timeouts/stop_s'],
    [{ restart: { policy: 'sometimes' } }, '/restart/policy'],
    [{ restart: { delay: 1 } }, '/restart/delay'],
    [{ idle_timeout_s: '300' }, '/idle_timeout_s'],
  ])('the settings %j are refused', async (input, path) => {
    const service = await empty()
    const reply = await add(service, definition('echo', [], input))
    expect(reply.json()).toMatchObject({ status: 422, errors: [{ path }] })
  })

  test('a replaced secret stays masked in the log until its process has exited', async () => {
    const service = await openTestService()
    const secret = `first-${randomUUID()}`
    await register(service, 'leaky', [], { env: { MY_SECRET: secret } })
    await post(service, '/api/servers/leaky/start')
    await patch(service, 'leaky', { env: { MY_SECRET: `second-${randomUUID()}` } })
    await until(service, 'leaky', ({ status, last_exit }) => status === 'running' && last_exit !== null)
    await sleep(1300)
    const logs = await service.inject('/api/logs?server_id=leaky&limit=1000')
    expect(logs.body).toContain('the end, MY_SECRET is ***')
    expect(logs.body).not.toContain(secret)
  })
})

describe('delete', () => {
  test.each([
    ['echo', 'running'],
    ['slow-handshake', 'starting'],
    ['crash', 'backoff'],
  ])('deleting the server %s while it is %s leaves no process and no tools', async (kind, status) => {
    const service = await openTestService()
    await register(service, kind)
    await post(service, `/api/servers/${kind}/start?wait_s=${status === 'starting' ? 0 : 10}`)
    const server = await until(service, kind, (it) => it.status === status)
    const url = `/api/servers/${kind}`
    expect((await service.inject({ method: 'DELETE', url, headers: AUTHORISED })).statusCode).toBe(204)
    expect((await service.inject(url)).statusCode).toBe(404)
    if (server.pid !== null) expect(() => process.kill(server.pid as number, 0)).toThrow()
    expect((await register(service, kind)).tool_count).toBeNull()
  })
})

test('a list shows each server as it is now, after every change', async () => {
  covers('servers-list')
  const service = await openTestService()
  await register(service, 'echo')
  await register(service, 'echo', [], { name: 'other' })
  const shown = async () => {
    const { items } = (await service.inject('/api/servers')).json<{ items: ServerView[] }>()
    const withoutUptime = ({ uptime_s: _, ...view }: ServerView) => view
    for (const item of items) {
      const alone = await get(service, item.id)
      expect(withoutUptime(item)).toEqual(withoutUptime(alone))
      expect(item.uptime_s === null).toBe(alone.uptime_s === null)
    }
    return items[0] as ServerView
  }
  expect(await shown()).toMatchObject({ id: 'echo', status: 'stopped', uptime_s: null })
  await post(service, '/api/servers/echo/start')
  const { uptime_s, ...running } = await shown()
  expect(running).toMatchObject({ status: 'running', tool_count: 4, stats: { calls: 0 } })
  await post(service, '/api/servers/echo/tools/echo/call', { arguments: { text: 'a' } })
  const called = await shown()
  expect(called).toMatchObject({ status: 'running', stats: { calls: 1 } })
  expect(called.uptime_s).toBeGreaterThan(uptime_s ?? 0)
  await patch(service, 'echo', { description: 'changed' })
  expect(await shown()).toMatchObject({ description: 'changed', stats: { calls: 1 } })
  await post(service, '/api/servers/echo/stop')
  expect(await shown()).toMatchObject({ status: 'stopped', desired_state: 'stopped', uptime_s: null })
})
