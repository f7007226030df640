import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { Agent, newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { Call } from './calls.schema.ts'

interface Detail extends Call {
  readonly arguments: unknown
  readonly result: { readonly content: { readonly text: string }[] } | null
  readonly payload_state: string
}

const list = async (service: TestService, query = '', headers: object = AUTHORISED) =>
  service.inject({ url: `/api/calls${query}`, headers: { ...headers } })
const items = async (service: TestService, query = '') =>
  (await list(service, query)).json<{ items: Call[]; total: number; next_cursor: string | null }>()
const detail = async (service: TestService, id: number | undefined) =>
  (await service.inject({ url: `/api/calls/${id}`, headers: AUTHORISED })).json<Detail>()
const call = (service: TestService, tool: string, args: object = {}) =>
  post(service, `/api/servers/echo/tools/${tool}/call`, { arguments: args })

async function openWithServers(env: Record<string, string> = {}, home = ownFolder()): Promise<TestService> {
  const service = await openTestService({ env, home })
  await register(service, 'echo', [], { env: { API_TOKEN: 'canary-of-the-server' } })
  await post(service, '/api/servers/echo/start')
  return service
}

describe('GET /api/calls', () => {
  test('lists calls of agents and of the API, newest first, with every filter, page by page', async () => {
    const service = await openWithServers()
    const agent = await Agent.open(service, await newKey(service), 'legacy')
    await agent.call('echo__echo', { text: 'x' })
    await agent.call('echo__slow', { ms: 30 })
    await call(service, 'echo', { text: 'y' })
    await call(service, 'nothing')
    const all = await items(service)
    const [failed, rest, slow, first] = all.items
    expect(all).toMatchObject({ total: 4, next_cursor: null })
    expect(all.items.map(({ tool }) => tool)).toEqual(['nothing', 'echo', 'slow', 'echo'])
    expect(first).toEqual({
      id: expect.any(Number),
      started_at: expect.stringMatching(/^\d{4}-.*Z$/),
      duration_ms: expect.any(Number),
      queue_ms: expect.any(Number),
      start_ms: 0,
      server_ms: expect.any(Number),
      server_id: 'echo',
      tool: 'echo',
      agent_type: 'cursor',
      session_id: agent.headers['mcp-session-id'],
      request_id: expect.stringMatching(/^req_/),
      status: 'ok',
      error_code: null,
      error_message: null,
      request_bytes: '{"text":"x"}'.length,
      response_bytes: expect.any(Number),
    })
    expect(rest).toMatchObject({ agent_type: null, session_id: null })
    expect(failed).toMatchObject({ status: 'error', error_message: "'echo' has no tool 'nothing'" })
    for (const [query, count] of [
      ['?server_id=echo', 4],
      ['?server_id=other', 0],
      ['?tool=slow', 1],
      ['?agent_type=cursor', 2],
      [`?session_id=${first?.session_id}`, 2],
      ['?status=error&status=timeout', 1],
      ['?min_ms=25', all.items.filter(({ duration_ms }) => (duration_ms ?? 0) >= 25).length],
      ['?since=1h&until=2030-01-01', 4],
      [`?since=${slow?.started_at}&tool=slow`, 1],
      [`?until=${slow?.started_at}&tool=slow&agent_type=cursor`, 1],
      ['?search=NO TOOL', 1],
      ['?search=slow', 1],
    ] as const)
      expect((await items(service, query)).total, query).toBe(count)
    const page = await items(service, '?limit=3')
    expect(page).toMatchObject({ total: 4, next_cursor: String(slow?.id) })
    const last = await items(service, `?limit=3&cursor=${page.next_cursor}`)
    expect([last.items, last.next_cursor]).toEqual([[first], null])
    expect((await list(service, '?since=2026-02-31')).statusCode).toBe(422)
    expect((await list(service, '?nothing=1')).statusCode).toBe(422)
  })

  test('is public without error messages and without search, and calls/{id} needs the token (who may read)', async () => {
    const service = await openWithServers()
    await call(service, 'nothing')
    const open = await list(service, '', {})
    expect(open.statusCode).toBe(200)
    expect(Object.keys(open.json().items[0])).not.toContain('error_message')
    expect((await list(service, '?search=x', {})).statusCode).toBe(401)
    const { id } = open.json().items[0]
    for (const url of [`/api/calls/${id}`, '/api/saved-calls', '/api/saved-calls/x'])
      expect((await service.inject(url)).statusCode, url).toBe(401)
    expect((await service.inject({ method: 'POST', url: `/api/calls/${id}/replay` })).statusCode).toBe(401)
    const closed = await openTestService({ env: { PROTECT_READS: 'true' } })
    expect((await list(closed, '', {})).statusCode).toBe(401)
  })

  test('the history survives a restart, and new calls get higher ids', async () => {
    const service = await openWithServers()
    await call(service, 'echo', { text: 'before' })
    const [before] = (await items(service)).items
    await service.close()
    const again = await openTestService({ home: service.home })
    await post(again, '/api/servers/echo/start')
    await call(again, 'echo', { text: 'after' })
    const after = await items(again)
    expect(after.items[1]).toEqual(before)
    expect(after.items[0]?.id).toBeGreaterThan(before?.id ?? Infinity)
    expect(await detail(again, before?.id)).toMatchObject({ payload_state: 'not_kept', arguments: null })
  })
})

describe('payloads of calls', () => {
  const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ'

  test('the arguments and the result of a call are shown without secrets, and exactly as they were sent', async () => {
    const service = await openWithServers()
    const key = await newKey(service)
    const agent = await Agent.open(service, key, 'modern')
    const exact = '{"text":"a\\r\\nb","n":12345678901234567890,"e":1.0}'
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo__echo","arguments":${exact},"_meta":${JSON.stringify(
      {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    )}}}`
    await agent.send(body, 'tools/call', 'echo__echo')
    await agent.call('echo__echo', { text: `${secret} and canary-of-the-server`, password: 'x', tokens: 5 })
    const [masked, plain] = (await items(service)).items
    const shown = await service.inject({ url: `/api/calls/${plain?.id}`, headers: AUTHORISED })
    expect(shown.body).toContain(`"arguments":${exact},"result":{`)
    expect(shown.json()).toMatchObject({ payload_state: 'kept' })
    const hidden = await detail(service, masked?.id)
    expect(hidden.arguments).toEqual({ text: '*** and ***', password: '***', tokens: 5 })
    expect(hidden.result?.content[0]?.text).toBe('*** and ***')
    expect((await service.inject({ url: '/api/calls/1', headers: AUTHORISED })).statusCode).toBe(404)
    expect((await service.inject({ url: '/api/calls/x', headers: AUTHORISED })).statusCode).toBe(404)
  })

  test('of 201 calls the last 200 are kept, and a payload over 64 KiB is cut without a part of a secret', async () => {
    const service = await openWithServers()
    await call(service, 'echo', { text: 'first' })
    const large = `${'x'.repeat(64 * 1024 - 30)} ${secret} ${'y'.repeat(20_000)}`
    await call(service, 'echo', { text: large })
    for (let n = 0; n < 199; n += 1) await call(service, 'nothing')
    const { items: newest } = await items(service, '?limit=300')
    expect(await detail(service, newest[200]?.id)).toMatchObject({ payload_state: 'not_kept', result: null })
    const cut = await detail(service, newest[199]?.id)
    expect(cut.payload_state).toBe('cut')
    expect(Buffer.byteLength(String(cut.arguments))).toBeLessThanOrEqual(64 * 1024)
    expect(String(cut.arguments).length).toBeGreaterThan(60 * 1024)
    expect(JSON.stringify(cut)).not.toContain('ghp_')
  })

  test('with CALL_PAYLOADS=off nothing is kept', async () => {
    const service = await openWithServers({ CALL_PAYLOADS: 'off' })
    await call(service, 'echo', { text: 'x' })
    const [{ id } = { id: 0 }] = (await items(service)).items
    expect(await detail(service, id)).toMatchObject({
      payload_state: 'not_kept',
      arguments: null,
      result: null,
    })
    const replay = await post(service, `/api/calls/${id}/replay`)
    expect(replay.statusCode).toBe(409)
    expect(replay.json()).toMatchObject({ code: 'payload_incomplete' })
  })

  test('with CALL_PAYLOADS=disk they survive a restart, and no file contains them in plain text', async () => {
    const service = await openWithServers({ CALL_PAYLOADS: 'disk' })
    await call(service, 'echo', { text: 'a plain word' })
    const [{ id } = { id: 0 }] = (await items(service)).items
    await service.close()
    for (const file of readdirSync(service.data).filter((name) => name.startsWith('calls.db')))
      expect(readFileSync(join(service.data, file)).includes('plain word'), file).toBe(false)
    const again = await openTestService({ home: service.home, env: { CALL_PAYLOADS: 'disk' } })
    expect(await detail(again, id)).toMatchObject({
      payload_state: 'kept',
      arguments: { text: 'a plain word' },
      result: { content: [{ text: 'a plain word' }] },
    })
  })
})

describe('POST /api/calls/{id}/replay', () => {
  test('calls the same tool again, with the same arguments or with others, and is recorded as a call', async () => {
    const service = await openWithServers()
    await call(service, 'echo', { text: 'again' })
    const [{ id } = { id: 0 }] = (await items(service)).items
    const same = await post(service, `/api/calls/${id}/replay`)
    expect(same.json()).toMatchObject({ content: [{ text: 'again' }] })
    const other = await post(service, `/api/calls/${id}/replay`, { arguments: { text: 'other' } })
    expect(other.json()).toMatchObject({ content: [{ text: 'other' }] })
    const [newest] = (await items(service)).items
    expect(other.headers.location).toBe(`/api/calls/${newest?.id}`)
    expect(newest).toMatchObject({ server_id: 'echo', tool: 'echo', agent_type: null, status: 'ok' })
    expect((await items(service)).total).toBe(3)
    expect((await post(service, '/api/calls/1/replay')).statusCode).toBe(404)
  })

  test('is refused with payload_incomplete when a secret was masked in the arguments, unless others are given', async () => {
    const service = await openWithServers()
    await call(service, 'echo', { text: 'canary-of-the-server' })
    const [{ id } = { id: 0 }] = (await items(service)).items
    const refused = await post(service, `/api/calls/${id}/replay`)
    expect(refused.statusCode).toBe(409)
    expect(refused.json()).toMatchObject({
      code: 'payload_incomplete',
      detail: `The arguments of the call ${id} are kept without the secrets in them`,
    })
    const given = await post(service, `/api/calls/${id}/replay`, { arguments: { text: 'fine' } })
    expect(given.statusCode).toBe(200)
  })
})

describe('saved calls', () => {
  const put = (service: TestService, id: string, payload: object) =>
    service.inject({ method: 'PUT', url: `/api/saved-calls/${id}`, headers: AUTHORISED, payload })
  const saved = {
    name: 'Say hello',
    server_id: 'echo',
    tool: 'echo',
    arguments: { text: 'hello canary-in-a-call' },
  }

  test('are saved, listed, replaced and deleted, survive a restart, and are encrypted on disk', async () => {
    const service = await openTestService()
    const added = await put(service, 'hello', saved)
    expect(added.statusCode).toBe(201)
    expect(added.headers.location).toBe('/api/saved-calls/hello')
    expect(added.json()).toMatchObject({ id: 'hello', ...saved })
    const changed = await put(service, 'hello', { ...saved, name: 'Say more' })
    expect([changed.statusCode, changed.json().name]).toEqual([200, 'Say more'])
    await service.close()
    for (const file of readdirSync(service.data).filter((name) => name.startsWith('toolroom.db')))
      expect(readFileSync(join(service.data, file)).includes('canary-in-a-call'), file).toBe(false)
    const again = await openTestService({ home: service.home })
    const url = '/api/saved-calls'
    const { items: all } = (await again.inject({ url, headers: AUTHORISED })).json()
    expect(all).toMatchObject([{ id: 'hello', name: 'Say more', arguments: saved.arguments }])
    expect((await again.inject({ url: `${url}/hello`, headers: AUTHORISED })).json()).toEqual(all[0])
    const remove = () => again.inject({ method: 'DELETE', url: `${url}/hello`, headers: AUTHORISED })
    expect([(await remove()).statusCode, (await remove()).statusCode]).toEqual([204, 404])
  })

  test('are refused with a clear error when they are not valid', async () => {
    const service = await openTestService()
    expect((await put(service, 'Not an id', saved)).statusCode).toBe(422)
    expect((await put(service, 'x', { ...saved, more: 1 })).statusCode).toBe(422)
    const large = await put(service, 'x', { ...saved, arguments: { text: 'x'.repeat(65 * 1024) } })
    expect(large.json()).toMatchObject({ status: 422, errors: [{ path: '/arguments' }] })
  })
})
