import { describe, expect, test } from 'vitest'
import { welcome } from '../../src/cli/first-run/welcome.ts'
import type { Context } from '../../src/cli/run/command-context.ts'
import { textOf } from '../../src/cli/run/printed-line.ts'
import { listLines } from '../../src/cli/watch/top-server-list.ts'
import { cliEnv, runCli } from '../support/cli.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { get, post, register } from '../support/running-servers.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'
import { allServers, openUntried, STATES, WORKS } from '../support/untried.ts'

const OTHERS = Object.keys(STATES).filter((id) => id !== WORKS)

describe('servers that have not worked since their definition last changed', () => {
  const shared = sharedByTests(() => openUntried())

  test('REST shows only the one that has worked as working, and why each failing one does not, after a restart', async () => {
    const { service, failed } = await shared()
    const servers = await allServers(service)
    expect(Object.fromEntries(servers.map(({ id, health }) => [id, health.state]))).toEqual(STATES)
    for (const { id, health, status } of servers) {
      expect([id, health.works]).toEqual([
        id,
        id === WORKS ? true : health.level === 'unknown' ? null : false,
      ])
      expect([id, health.level === 'healthy']).toEqual([id, id === WORKS])
      expect(['idle', 'unknown']).toContain(status)
    }
    const byId = Object.fromEntries(servers.map((server) => [server.id, server]))
    expect(byId.never).toMatchObject({
      last_try: null,
      health: { level: 'unknown', summary: expect.stringMatching(/^Not tried yet/) },
    })
    expect(byId.missing).toMatchObject({ last_try: null, last_error: { code: 'command_not_found' } })
    expect(byId.secretless).toMatchObject({ last_try: null, last_error: { code: 'missing_setting' } })
    const { last_error, last_try } = failed
    expect(byId.crashes).toMatchObject({
      last_try,
      last_error,
      health: { level: 'unhealthy', summary: last_error?.message, action: last_error?.hint },
    })
    expect(last_try).toMatchObject({ ok: false, code: last_error?.code })
  })

  test('a notice about a server that failed before the restart is still the same open notice, and degrades the health check', async () => {
    const { service, notices } = await shared()
    const before = notices.filter(({ server_id }: { server_id: string }) => server_id === 'crashes')
    const { items } = (await service.inject('/api/notices')).json()
    const now = items.filter(({ server_id }: { server_id: string }) => server_id === 'crashes')
    expect(now).toMatchObject([{ id: before[0].id, kind: 'server_crashed', count: 1, resolved_at: null }])
    const broken = items.map(({ server_id }: { server_id: string }) => server_id).sort()
    expect(broken).toEqual(['crashes', 'missing', 'secretless'])
    expect((await service.inject('/api/health')).json()).toMatchObject({
      status: 'degraded',
      warnings: expect.arrayContaining([expect.stringMatching(/^'missing' cannot start\. /)]),
    })
  })

  test('ls, status, why, doctor, top and the start line count one server as working, and three as not tried', async () => {
    const { service } = await shared()
    const env = cliEnv(service)
    const lines = (text: string) => text.split('\n')
    const rowOf = (text: string, id: string) => lines(text).find((line) => line.trim().startsWith(`${id} `))
    const [ls, status, doctor] = await Promise.all([
      runCli(env, ['ls']),
      runCli(env, ['status']),
      runCli(env, ['doctor']),
    ])
    for (const { stdout } of [ls, status]) {
      expect(rowOf(stdout, WORKS)).toMatch(/◌ idle/)
      for (const id of ['never', 'changed', 'remote']) expect(rowOf(stdout, id)).toMatch(/◇ not tried/)
      for (const id of ['missing', 'secretless']) expect(rowOf(stdout, id)).toMatch(/✕ failed/)
      expect(rowOf(stdout, 'crashes')).toMatch(/✕ crashed/)
    }
    expect(doctor.stdout).toContain('✓ 1 server works')
    expect(doctor.stdout).toMatch(/3 servers not tried yet: .*toolroom test --all/)
    expect(doctor.stdout).toContain('no-such-program was not found (needed by missing)')
    expect(doctor.stdout).toMatch(/secretless: The secret 'token' is not set/)
    expect(doctor.code).toBe(1)

    const whys = await Promise.all(Object.keys(STATES).map((id) => runCli(env, ['why', id])))
    for (const [at, id] of Object.keys(STATES).entries())
      expect([id, whys[at]?.stdout.includes('Nothing is wrong with it')]).toEqual([id, id === WORKS])
    const codes = Object.fromEntries(Object.keys(STATES).map((id, at) => [id, whys[at]?.code]))
    expect(codes).toEqual({
      [WORKS]: 0,
      never: 0,
      changed: 0,
      remote: 0,
      missing: 1,
      secretless: 1,
      crashes: 1,
    })

    const servers = await allServers(service)
    const summary = { calls: { total: 0, ok: 0 }, latency_ms: { p95: null } } as never
    const view = { page: 'list', scroll: 0, filter: '', isTyping: false, sort: 'name' } as const
    const top = listLines(
      { servers, tools: [], summary, at: 0 },
      { ...view, chosen: undefined, message: '' },
      120,
      12,
    )
    expect(textOf(top[0] as string)).toMatch(/7 servers {3}3 with problems {3}3 not tried {3}calls/)

    const notes: string[] = []
    await welcome({
      api: {
        get: async (url: string) => (await service.inject({ url, headers: AUTHORISED })).json(),
        post: async () => ({ code: 'x' }),
      },
      service: { address: service.address },
      note: (line: unknown) => notes.push(String(line)),
    } as unknown as Context)
    expect(notes.slice(1)).toEqual([
      '7 servers: 1 works, 3 were not tried yet, 3 need you:  toolroom why crashes  or  toolroom test --all',
    ])
  })
})

test('toolroom test --all starts each server once and leaves it asleep; one that a user has stopped is not started', async () => {
  const { service } = await openUntried()
  await register(service, 'echo', [], { name: 'stopped' })
  await register(service, 'echo', [], { name: 'running' })
  await post(service, '/api/servers/running/start')
  const { code, stdout } = await runCli(cliEnv(service), ['test', '--all', '--json'])
  expect(code).toBe(9)
  const report = JSON.parse(stdout)
  expect(report).toMatchObject({ total: 9, works: 4, failed: 4, skipped: 1 })
  const outcomes = Object.fromEntries(
    report.items.map(({ id, outcome }: { id: string; outcome: string }) => [id, outcome]),
  )
  for (const id of [WORKS, 'never', 'changed', 'running']) expect([id, outcomes[id]]).toEqual([id, 'works'])
  for (const id of ['missing', 'secretless', 'crashes', 'remote'])
    expect([id, outcomes[id]]).toEqual([id, 'failed'])
  expect(outcomes.stopped).toBe('skipped')
  for (const id of OTHERS.filter((each) => each !== 'remote'))
    expect(await get(service, id)).toMatchObject({ status: 'idle', pid: null })
  expect(await get(service, 'never')).toMatchObject({ health: { works: true }, last_try: { ok: true } })
  expect(await get(service, 'stopped')).toMatchObject({ status: 'stopped', last_try: null })
  expect(await get(service, 'running')).toMatchObject({ status: 'running' })
  const job = (await service.inject({ url: '/api/jobs', headers: AUTHORISED })).json().items[0]
  expect(job).toMatchObject({
    kind: 'server_try',
    status: 'done',
    phases: [{ name: 'trying', detail: { tried: 9, total: 9 } }],
  })
})

test('a try by a call that comes meanwhile leaves the server running, and a stop meanwhile leaves it stopped', async () => {
  const service = await openTestService()
  await register(service, 'echo', [], { name: 'called', start_mode: 'on_demand' })
  await register(service, 'slow-handshake', ['--ms=300'], { name: 'stopped', start_mode: 'on_demand' })
  const trying = post(service, '/api/servers/try', { ids: ['called', 'stopped'] })
  const [called] = await Promise.all([
    post(service, '/api/servers/called/tools/echo/call', { arguments: { text: 'hi' } }),
    post(service, '/api/servers/stopped/stop'),
  ])
  expect(called.statusCode).toBe(200)
  expect((await trying).statusCode).toBe(200)
  expect(await get(service, 'stopped')).toMatchObject({ status: 'stopped', last_try: null })
})
