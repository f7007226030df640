import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import WebSocket from 'ws'
import { openHttp } from '../../../test/fixtures/http/sites.ts'
import { put } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { get, post, register, until } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { NoticeView } from './notices.schema.ts'

const list = async (service: TestService, state = 'open', headers: Record<string, string> = AUTHORISED) =>
  (await service.inject({ url: `/api/notices?state=${state}`, headers })).json<{ items: NoticeView[] }>()
    .items

const health = async (service: TestService, headers: Record<string, string> = {}) =>
  (await service.inject({ url: '/api/health', headers })).json<{ status: string; warnings: string[] }>()

/** Fails when the notice does not appear within 2 s. */
async function appears(service: TestService, kind: string): Promise<NoticeView> {
  for (const end = performance.now() + 2000; ; await sleep(20)) {
    const found = (await list(service)).find((notice) => notice.kind === kind)
    if (found) return found
    if (performance.now() > end) expect.unreachable(`no ${kind} in ${JSON.stringify(await list(service))}`)
  }
}

/** The frames of the topic `notice`. */
async function follow(service: TestService): Promise<Record<string, unknown>[]> {
  const frames: Record<string, unknown>[] = []
  const socket = new WebSocket(`${service.address.replace('http', 'ws')}/api/ws/metrics`)
  socket.on('message', (bytes) => {
    const frame = JSON.parse(String(bytes))
    if (frame.type === 'notice') frames.push(frame.data)
  })
  await new Promise((resolve) => socket.once('message', resolve))
  return frames
}

describe('notices', () => {
  test('a killed server is a notice within 2 s, in the list, on the live stream and in the health check, which is ok again when the server is', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    await post(service, '/api/servers/echo/start')
    const frames = await follow(service)
    expect(await list(service)).toEqual([])
    const { pid } = await get(service, 'echo')
    process.kill(pid ?? 0, 'SIGKILL')
    const notice = await appears(service, 'server_crashed')
    expect(notice).toMatchObject({
      level: 'error',
      server_id: 'echo',
      agent_type: null,
      text: expect.stringMatching(/^'echo' crashed\. /),
      evidence: expect.stringContaining('SIGKILL'),
      action: { label: 'Show why', route: '/servers/echo' },
      count: 1,
      seen_at: null,
      resolved_at: null,
    })
    const { evidence: _, ...shown } = notice
    expect(await list(service, 'open', {})).toEqual([shown])
    expect((await health(service)).warnings).toEqual([notice.text])
    await until(service, 'echo', ({ status }) => status === 'running')
    expect(await health(service)).toMatchObject({ status: 'ok', warnings: [notice.text] })
    expect(frames).toEqual([shown])

    const seen = await post(service, `/api/notices/${notice.id}/seen`)
    expect(seen.json()).toEqual({ ...notice, seen_at: expect.any(String) })
    process.kill((await get(service, 'echo')).pid ?? 0, 'SIGKILL')
    await until(service, 'echo', ({ status }) => status === 'backoff')
    expect(await list(service, 'all')).toMatchObject([{ id: notice.id, count: 2, seen_at: null }])
  })

  test('a server that had run for 10 s and is replaced at once after a crash is a notice all the same (docs/notices.md)', async () => {
    const service = await openTestService()
    await register(service, 'echo')
    await post(service, '/api/servers/echo/start')
    await until(service, 'echo', ({ uptime_s }) => (uptime_s ?? 0) > 10)
    const { pid } = await get(service, 'echo')
    const frames = await follow(service)
    process.kill(pid ?? 0, 'SIGKILL')
    await until(service, 'echo', (now) => now.status === 'running' && now.pid !== pid)
    const [notice] = await list(service)
    expect(notice).toMatchObject({ kind: 'server_crashed', server_id: 'echo', count: 1, resolved_at: null })
    expect(frames).toMatchObject([{ kind: 'server_crashed', server_id: 'echo' }])
    expect(await health(service)).toEqual(expect.objectContaining({ status: 'ok', warnings: [notice?.text] }))
  })

  test('servers that cannot be started or reached degrade the health check; those that are stopped, asleep or disabled do not', async () => {
    const service = await openTestService()
    await register(service, 'echo', [], { name: 'asleep', start_mode: 'on_demand' })
    await register(service, 'echo', [], { name: 'stopped', start_mode: 'manual' })
    await register(service, 'echo', [], { name: 'missing', command: 'no-such-program' })
    for (const name of ['one', 'two'])
      await post(service, '/api/http-servers', { name, url: 'http://127.0.0.1:9/mcp' })
    expect(await health(service)).toMatchObject({ status: 'ok', warnings: [] })

    await post(service, '/api/servers/missing/start')
    for (const name of ['one', 'two']) await post(service, `/api/http-servers/${name}/test`)
    expect((await list(service)).map(({ kind, server_id }) => [kind, server_id])).toEqual([
      ['server_failed', 'two'],
      ['server_failed', 'one'],
      ['server_failed', 'missing'],
    ])
    expect(await health(service)).toMatchObject({
      status: 'degraded',
      warnings: [
        expect.stringMatching(/^'two' cannot be reached\. /),
        expect.stringMatching(/^'one' cannot be reached\. /),
        expect.stringMatching(/^'missing' cannot start\. /),
      ],
    })

    await post(service, '/api/servers/missing/stop')
    const off = { method: 'PUT', headers: AUTHORISED, payload: { enabled: false } } as const
    await service.inject({ ...off, url: '/api/http-servers/one' })
    await service.inject({ method: 'DELETE', url: '/api/http-servers/two', headers: AUTHORISED })
    expect(await health(service)).toMatchObject({
      status: 'ok',
      warnings: [{}, {}].map(() => expect.any(String)),
    })
  })

  test('muted kinds and servers are recorded, but neither listed as open nor named in the health check; the choice is audited and survives a restart', async () => {
    const home = ownFolder()
    const service = await openTestService({ home, env: { AUTH_TOKEN: 'hunter2' } })
    const token = { 'x-svc-token': 'hunter2' }
    const mute = (payload: object) =>
      service.inject({ method: 'PUT', url: '/api/notices/mutes', headers: token, payload })
    expect(await health(service)).toMatchObject({
      status: 'degraded',
      warnings: [expect.stringMatching('weak')],
    })
    expect((await mute({ servers: ['nothing'] })).json()).toMatchObject({
      status: 422,
      errors: [{ path: '/servers/0' }],
    })
    expect((await mute({ kinds: ['nothing'] })).statusCode).toBe(422)
    expect((await mute({ kinds: ['weak_token'] })).json()).toEqual({ kinds: ['weak_token'], servers: [] })
    expect(await health(service)).toMatchObject({ status: 'ok', warnings: [] })
    expect(await list(service, 'open', token)).toEqual([])
    expect(await list(service, 'all', token)).toMatchObject([{ kind: 'weak_token', resolved_at: null }])
    await service.close()

    const again = await openTestService({ home, env: { AUTH_TOKEN: 'hunter2' } })
    expect((await again.inject({ url: '/api/notices/mutes', headers: token })).json()).toEqual({
      kinds: ['weak_token'],
      servers: [],
    })
    expect(await health(again)).toMatchObject({ status: 'ok', warnings: [] })
    expect(await list(again, 'all', token)).toMatchObject([{ id: 1, count: 1 }])
  })

  test('with PROTECT_READS, the health check has only the number of notices of each kind, unless the token is sent', async () => {
    const service = await openTestService({ env: { PROTECT_READS: 'true' } })
    await register(service, 'echo', [], { name: 'missing', command: 'no-such-program' })
    await post(service, '/api/servers/missing/start')
    expect(await health(service)).toMatchObject({ status: 'degraded', warnings: ['server_failed: 1'] })
    expect((await health(service, AUTHORISED)).warnings).toEqual([expect.stringContaining("'missing'")])
    expect((await service.inject('/api/notices')).statusCode).toBe(401)
  })

  test('changed tools are a notice until a person has seen it, and held tools until they are approved', async () => {
    const service = await openTestService()
    await register(service, 'mutate', ['--times=1'])
    await post(service, '/api/servers/mutate/start')
    const notice = await appears(service, 'tools_changed')
    expect(notice).toMatchObject({
      text: "The tools of 'mutate' have changed: 1 new, 1 changed, 1 removed. Review them",
      evidence: 'new: tool_2; changed: stable; removed: tool_1',
      action: { route: '/servers/mutate?tab=tools' },
    })
    expect(await health(service)).toMatchObject({ status: 'ok', warnings: [notice.text] })

    const strict = await openTestService({ env: { HOLD_CHANGED_TOOLS: 'true' } })
    await register(strict, 'mutate', ['--times=1'])
    await post(strict, '/api/servers/mutate/start')
    const held = await appears(strict, 'tools_held')
    expect(held).toMatchObject({ server_id: 'mutate', evidence: expect.stringContaining('tool_2') })
  })

  test("an agent's file that cannot be parsed is a notice within 2 s, with its place as evidence", async () => {
    const home = ownFolder()
    put(home, '.cursor/mcp.json', '{"mcpServers":{}}')
    const service = await openTestService({ home })
    await sleep(600) // the files are read a moment after the start
    expect(await list(service)).toEqual([])
    put(home, '.cursor/mcp.json', '{"mcpServers":{}')
    expect(await appears(service, 'agent_file_unreadable')).toMatchObject({
      agent_type: 'cursor',
      text: expect.stringContaining('A file of Cursor cannot be read'),
      evidence: expect.stringContaining('.cursor/mcp.json'),
      action: { route: '/agents/cursor' },
    })
    expect(await health(service)).toMatchObject({ status: 'ok' })
  })

  test("an entry of Toolroom that another program changed in an agent's file is a notice within 2 s, until it is seen", async () => {
    const home = ownFolder()
    put(home, '.cursor/mcp.json', '{"mcpServers":{}}')
    const service = await openTestService({ home })
    await sleep(600) // the files are read a moment after the start
    expect((await post(service, '/api/agents/cursor/connect', {})).statusCode).toBe(200)
    const file = join(home, '.cursor/mcp.json')
    const own = readFileSync(file, 'utf8')
    writeFileSync(file, own.replace('"toolroom"', '"toolroom-2"'))
    const notice = await appears(service, 'agent_file_edited')
    expect(notice).toMatchObject({
      agent_type: 'cursor',
      action: { route: '/agents/cursor?drift=1', kind: 'see_difference', agent_type: 'cursor' },
    })
  })

  test('a server that requires a login is a notice within 2 s of the check, with the way to log in', async () => {
    const service = await openTestService()
    const { origin } = await openHttp((_, response) => void response.writeHead(401).end())
    const server = { name: 'far', url: `${origin}/mcp` }
    expect((await post(service, '/api/http-servers', server)).statusCode).toBe(201)
    expect((await post(service, '/api/http-servers/far/test')).statusCode).toBe(200)
    expect(await appears(service, 'login_needed')).toMatchObject({
      server_id: 'far',
      text: expect.stringContaining('requires a login'),
    })
  })

  test('seeing a notice that does not exist answers 404', async () => {
    const service = await openTestService()
    for (const id of ['0', 'x', '999999', '1e3', '-1', '9'.repeat(400)])
      expect((await post(service, `/api/notices/${id}/seen`)).json()).toMatchObject({ code: 'not_found' })
  })
})
