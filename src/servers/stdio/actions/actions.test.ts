import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Static } from 'typebox'
import { expect, test } from 'vitest'
import { ownFolder } from '../../../../test/support/folder.ts'
import { leftAfter } from '../../../../test/support/marked-processes.ts'
import { definition, get, post, register, until } from '../../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../../test/support/test-service.ts'
import type { RuntimeList } from './actions.schema.ts'

const markOf = (service: TestService) =>
  `TOOLROOM_CHILD=${readFileSync(join(service.data, 'child-mark'), 'utf8').trim()}`

test('one request starts, stops and deletes several servers, by id or by tag, with an outcome for each', async () => {
  const service = await openTestService()
  await register(service, 'echo', [], { tags: ['work'] })
  await register(service, 'noenv', [], { tags: ['work'] })
  await register(service, 'echo', [], { name: 'other' })
  const bulk = async (payload: object) => (await post(service, '/api/servers/bulk', payload)).json()
  expect(await bulk({ action: 'start', tag: 'work' })).toEqual({
    action: 'start',
    items: [
      { id: 'echo', ok: true, status: 'running', error: null },
      {
        id: 'noenv',
        ok: false,
        status: 'failed',
        error: {
          code: 'server_start_failed',
          message: expect.stringContaining('API_KEY'),
          hint: 'Set API_KEY in env',
          action: { kind: 'set_variable', name: 'API_KEY' },
        },
      },
    ],
    total: 2,
    failed: 1,
  })
  expect(await bulk({ action: 'stop', ids: ['echo', 'nothing', 'other'] })).toMatchObject({
    items: [
      { id: 'echo', ok: true, status: 'stopped' },
      { id: 'nothing', ok: false, status: null, error: { code: 'not_found' } },
      { id: 'other', ok: true, status: 'stopped' },
    ],
    failed: 1,
  })
  expect(await bulk({ action: 'delete', tag: 'work' })).toMatchObject({ total: 2, failed: 0 })
  expect((await service.inject('/api/servers')).json()).toMatchObject({ total: 1, items: [{ id: 'other' }] })
  expect(await bulk({ action: 'restart', tag: 'nothing' })).toMatchObject({ items: [], total: 0 })
  for (const payload of [
    { action: 'stop' },
    { action: 'stop', ids: ['other'], tag: 'x' },
    { action: 'stop', ids: [] },
  ])
    expect((await post(service, '/api/servers/bulk', payload)).statusCode, JSON.stringify(payload)).toBe(422)
})

test('a trial lists the tools of a definition or says why it does not start, and leaves nothing behind', async () => {
  const service = await openTestService()
  const secret = `canary-${randomUUID()}`
  const { name: _, ...leaky } = definition('leaky', [], { env: { MY_SECRET: secret } })
  const tried = await post(service, '/api/servers/trial', leaky)
  expect(tried.json(), tried.body).toMatchObject({
    ok: true,
    protocol_version: '2025-11-25',
    tools: [{ description: 'MY_SECRET is ***', gateway_name: null }],
    error: null,
  })
  const failed = await post(service, '/api/servers/trial', definition('noenv'))
  expect(failed.json()).toMatchObject({
    ok: false,
    tools: [],
    tool_count: null,
    error: { code: 'missing_setting', hint: 'Set API_KEY in env' },
    stderr_tail: ['Error: the environment variable API_KEY is required'],
  })
  const missing = await post(service, '/api/servers/trial', { command: 'no-such-program-anywhere' })
  expect(missing.json()).toMatchObject({ ok: false, error: { code: 'command_not_found' } })
  const referring = { command: 'x', env: { A: `\${secret:nothing}` } }
  expect((await post(service, '/api/servers/trial', referring)).json()).toMatchObject({
    ok: false,
    error: { code: 'missing_setting' },
  })
  expect((await post(service, '/api/servers/trial', { env: {} })).statusCode).toBe(422)
  expect((await post(service, '/api/servers/trial', { command: 'x', env: { A: '***' } })).statusCode).toBe(
    422,
  )
  expect((await service.inject('/api/servers')).json()).toMatchObject({ total: 0 })
  expect((await service.inject('/api/logs?source=server')).json()).toMatchObject({ items: [] })
  expect(tried.body + failed.body + (await service.inject('/api/logs?limit=1000')).body).not.toContain(secret)
  expect(await leftAfter(markOf(service))).toBe(0)
})

test('reveal returns one stored value to a caller with the token, and the audit trail names it without its value', async () => {
  const service = await openTestService()
  const secret = `canary-${randomUUID()}`
  await register(service, 'echo', [`--api-key=${secret}1`], { env: { MY_SECRET: secret } })
  const url = `http://127.0.0.1:9/mcp?token=${secret}2`
  await post(service, '/api/http-servers', {
    name: 'far',
    url,
    headers: { 'X-Key': `${secret}3` },
    enabled: false,
  })
  const reveal = (path: string, payload: object) => post(service, `/api/${path}/reveal`, payload)
  const shown = [
    await reveal('servers/echo', { field: 'env', name: 'MY_SECRET' }),
    await reveal('servers/echo', { field: 'args', name: '1' }),
    await reveal('servers/echo', { field: 'command' }),
    await reveal('http-servers/far', { field: 'url' }),
    await reveal('http-servers/far', { field: 'headers', name: 'X-Key' }),
  ]
  const values = [secret, `--api-key=${secret}1`, process.execPath, url, `${secret}3`]
  expect(shown.map((reply) => reply.json())).toEqual(values.map((value) => ({ value })))
  for (const [payload, status] of [
    [{ field: 'env', name: 'toString' }, 404],
    [{ field: 'args', name: '7' }, 404],
    [{ field: 'env' }, 422],
    [{ field: 'command', name: 'x' }, 422],
    [{ field: 'headers', name: 'x' }, 422],
  ] as const)
    expect((await reveal('servers/echo', payload)).statusCode, JSON.stringify(payload)).toBe(status)
  const open = await service.inject({
    method: 'POST',
    url: '/api/servers/echo/reveal',
    payload: { field: 'env', name: 'MY_SECRET' },
  })
  expect(open.statusCode).toBe(401)
  const logs = await service.inject({ url: '/api/logs?source=audit&limit=1000', headers: AUTHORISED })
  const audited = (logs.json().items as { message: string; data: unknown }[]).filter(({ message }) =>
    message.startsWith('server secret revealed'),
  )
  expect(audited).toHaveLength(5)
  expect(JSON.stringify(audited)).toContain('MY_SECRET')
  expect(logs.body).not.toContain(secret)
})

type Checks = { name: string; ok: boolean; detail: string }[]

test('diagnose checks what a start needs, explains exits and processes, and starts a server that is not running once', async () => {
  const service = await openTestService()
  const diagnose = async (id: string) => (await post(service, `/api/servers/${id}/diagnose`)).json()
  const failing = ({ checks }: { checks: Checks }) => checks.filter(({ ok }) => !ok).map(({ name }) => name)
  const secret = `canary-${randomUUID()}`
  await register(service, 'echo', [`--token=${secret}`], { env: { MY_SECRET: secret } })
  const stopped = await diagnose('echo')
  expect(stopped.checks.map(({ name }: { name: string }) => name)).toEqual([
    'references',
    'command',
    'cwd',
    'variables',
    'exits',
    'processes',
    'handshake',
  ])
  expect(failing(stopped)).toEqual([])
  expect(stopped.command_line).toMatch(/^cd ~ && MY_SECRET=\*\*\* \S+ \S+echo\.mjs --token=\*\*\*$/)
  expect(JSON.stringify(stopped)).not.toContain(secret)
  expect(await get(service, 'echo')).toMatchObject({ status: 'stopped', recent_exits: [] })
  await post(service, '/api/servers/echo/start')
  const { pid } = await get(service, 'echo')
  process.kill(pid ?? 0, 'SIGKILL')
  const crashed = await until(service, 'echo', ({ status, pid: now }) => status === 'running' && now !== pid)
  expect(crashed.recent_exits).toMatchObject([{ code: null, signal: 'SIGKILL', ran_s: expect.any(Number) }])
  const again = await diagnose('echo')
  expect(again.checks.find(({ name }: { name: string }) => name === 'exits')).toMatchObject({
    ok: true,
    detail: expect.stringMatching(/^It exited once lately, the last time by SIGKILL after \d+(\.\d)? s/),
  })
  await register(service, 'noenv')
  expect(failing(await diagnose('noenv'))).toEqual(['handshake'])
  await register(service, 'echo', [], { name: 'blank', env: { API_URL: '' } })
  expect(failing(await diagnose('blank'))).toEqual(['variables'])
  await register(service, 'echo', [], { name: 'lost', command: 'no-such-program-anywhere' })
  const lost = await diagnose('lost')
  expect(failing(lost)).toEqual(['command'])
  expect(lost.repair).toBeNull()
  expect(again.repair).toBeNull()
  await register(service, 'echo', [`\${env:NO_SUCH_VARIABLE_ANYWHERE}`], { name: 'referring' })
  expect(failing(await diagnose('referring'))).toEqual(['references'])
  await register(service, 'echo', [], { name: 'nowhere', cwd: '/no/such/folder' })
  expect(failing(await diagnose('nowhere'))).toEqual(['cwd'])
  await post(service, '/api/http-servers', { name: 'far', url: `http://127.0.0.1:9/mcp?key=${secret}` })
  const far = (await post(service, '/api/http-servers/far/diagnose')).json()
  expect(far.checks[0]).toMatchObject({ name: 'enabled', ok: true })
  expect(failing(far)).toEqual(['tcp'])
  expect(far.command_line).toContain("curl -i 'http://127.0.0.1:9/mcp?key=***' -H")
})

test('diagnose tries the address that refused a connection again, but only on this computer or if the definition names it', async () => {
  const service = await openTestService()
  const address = async (name: string, refused: string, fields: object = {}) => {
    const words = JSON.stringify([...refused]) // so that the arguments do not name it
    const script = `console.error('Error: connect ECONNREFUSED ' + ${words}.join('')); process.exit(1)`
    await register(service, 'echo', [], { name, command: process.execPath, args: ['-e', script], ...fields })
    expect((await post(service, `/api/servers/${name}/start`)).statusCode).toBe(502)
    const { later_retries_s } = await until(service, name, ({ status }) => status === 'backoff')
    expect('2,4,8,16,300').toContain(later_retries_s.join())
    const { checks } = (await post(service, `/api/servers/${name}/diagnose`)).json<{ checks: Checks }>()
    return checks.find((check) => check.name === 'address')
  }
  const { port } = new URL(service.address)
  expect(await address('open', `127.0.0.1:${port}`)).toEqual({
    name: 'address',
    ok: true,
    detail: `127.0.0.1:${port} accepts connections now. Start the server again`,
  })
  expect(await address('closed', '::1:9')).toMatchObject({
    ok: false,
    detail: 'Nothing listens on ::1:9. Start the program that the server connects to',
  })
  expect(await address('elsewhere', '192.0.2.1:80')).toBeUndefined()
  expect(await address('metadata', '169.254.169.254:80', { env: { URL: 'http://169.254.169.254:80' } })).toBe(
    undefined,
  )
})

test('the programs that servers need are listed with who needs them, found by the rules of a start, and none of them is started', async () => {
  const service = await openTestService()
  const folder = ownFolder()
  const [ran, tool] = [join(folder, 'ran'), join(folder, 'own-tool')]
  writeFileSync(tool, `#!/bin/sh\ntouch ${ran}\n`, { mode: 0o755 })
  await register(service, 'echo')
  await register(service, 'echo', [], { name: 'lost', command: 'no-such-program-anywhere' })
  await register(service, 'echo', [], { name: 'also-lost', command: 'no-such-program-anywhere' })
  await register(service, 'echo', [], { name: 'own', command: 'own-tool', env: { PATH: folder } })
  const url = '/api/runtimes'
  expect((await service.inject(url)).statusCode).toBe(401)
  const { items } = (await service.inject({ url, headers: AUTHORISED })).json<Static<typeof RuntimeList>>()
  const named = (command: string) => items.filter((one) => one.command === command)
  expect(items.slice(0, 6).map(({ command }) => command)).toEqual([
    'node',
    'npm',
    'npx',
    'uvx',
    'docker',
    'python3',
  ])
  expect(named(process.execPath)).toMatchObject([
    { path: process.execPath, version: process.versions.node, problem: null, needed_by: ['echo'] },
  ])
  expect(named('no-such-program-anywhere')).toMatchObject([
    {
      path: null,
      problem: { code: 'command_not_found', hint: expect.any(String) },
      shell_path: null,
      needed_by: ['lost', 'also-lost'],
    },
  ])
  expect(named('own-tool')).toMatchObject([{ path: tool, shell_path: null, needed_by: ['own'] }])
  expect(existsSync(ran)).toBe(false)
})
