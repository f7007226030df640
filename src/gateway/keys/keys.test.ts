import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import type { KeyRecord } from '../../kernel/secrets/vault.ts'
import type { KeyView, NewKey } from './keys.schema.ts'
import { createKeys } from './keys.service.ts'

async function setUp() {
  const service = await openTestService()
  const request = (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) =>
    service.inject({ method, url: `/api/keys${path}`, headers: AUTHORISED, ...(payload && { payload }) })
  return { service, request }
}

test('a new key is shown once, then listed without its secret, and can be deleted', async () => {
  const { service, request } = await setUp()
  const created = await request('POST', '', { agent_type: 'cursor', name: 'my laptop' })
  expect(created.statusCode).toBe(201)
  const { id, key, ...rest } = created.json<NewKey>()
  expect(created.headers.location).toBe(`/api/keys/${id}`)
  expect(key).toMatch(/^tk_[\w-]{43}$/)
  expect(rest).toMatchObject({ name: 'my laptop', agent_type: 'cursor', last_used_at: null })
  const list = await request('GET', '')
  expect(list.json<{ items: KeyView[] }>().items).toMatchObject([{ id, name: 'my laptop' }])
  expect(list.body).not.toContain(key)
  expect(readFileSync(join(service.data, 'toolroom.db')).includes(key)).toBe(false)
  expect((await request('DELETE', `/${id}`)).statusCode).toBe(204)
  expect((await request('DELETE', `/${id}`)).statusCode).toBe(404)
  expect((await request('GET', '')).json().total).toBe(0)
})

test('a deleted key is refused at the gateway at once, and the other keys of the agent are not', async () => {
  const { service, request } = await setUp()
  const make = async () => (await request('POST', '', { agent_type: 'cursor' })).json<NewKey>()
  const [deleted, kept] = [await make(), await make()]
  const statusOf = async ({ key }: NewKey) => {
    const headers = {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
    }
    const hello = { jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18' } }
    const reply = await fetch(`${service.address}/mcp`, {
      method: 'POST',
      headers,
      body: JSON.stringify(hello),
    })
    await reply.text()
    return reply.status
  }
  expect([await statusOf(deleted), await statusOf(kept)]).toEqual([200, 200])
  expect((await request('DELETE', `/${deleted.id}`)).statusCode).toBe(204)
  expect([await statusOf(deleted), await statusOf(kept)]).toEqual([401, 200])
})

test('managing keys needs the token, and a gateway key gives no access to /api', async () => {
  const { service, request } = await setUp()
  const { key } = (await request('POST', '', { agent_type: 'cursor' })).json<NewKey>()
  expect((await service.inject('/api/keys')).statusCode).toBe(401)
  for (const headers of [{ 'x-svc-token': key }, { authorization: `Bearer ${key}` }])
    expect((await service.inject({ url: '/api/keys', headers })).statusCode).toBe(401)
})

const shared = sharedByTests(setUp)

test.each([
  {},
  { agent_type: '' },
  { agent_type: 'A b' },
  { agent_type: 'x', name: 'a\nb' },
  { agent_type: 'x', more: 1 },
])('a key with the input %j is refused', async (payload) => {
  const { request } = await shared()
  expect((await request('POST', '', payload)).statusCode).toBe(422)
})

/** A store as the real one is, and a clock that the test moves. */
function openKeys() {
  const clock = { now: 1_000_000 }
  const records = new Map<string, KeyRecord>()
  const audited: string[] = []
  const keys = createKeys({
    store: {
      all: () => [...records.values()],
      find: (digest) => [...records.values()].find((record) => record.digest === digest),
      save: async (record, audit) => {
        records.set(record.id, record)
        if (audit) audited.push(audit.action)
      },
      remove: async (id, audit) => {
        records.delete(id)
        audited.push(audit.action)
      },
    },
    typeOf: (type) => (type === 'claude' ? 'claude-code' : type),
    now: () => clock.now,
    onError: (error) => expect.unreachable(String(error)),
  })
  return { clock, keys, records, audited }
}

test('when a key was last used is stored, once a minute at most, and without an audit row', async () => {
  const { clock, keys, records, audited } = openKeys()
  const { id, key } = await keys.add({ agent_type: 'claude' }, { request_id: null })
  const stored = () => records.get(id)?.last_used_at
  expect(stored()).toBeNull()
  keys.find(key)
  expect(stored()).toBe(1_000_000)
  clock.now += 59_999
  keys.find(key)
  expect(stored()).toBe(1_000_000)
  clock.now += 1
  keys.find(key)
  expect(stored()).toBe(1_060_000)
  expect(keys.idOf(key)).toBe(id) // which is no use
  expect(audited).toEqual(['key_added'])
  expect(keys.list()).toMatchObject([{ agent_type: 'claude-code', last_used_at: '1970-01-01T00:17:40.000Z' }])
})

test('200 keys can be made, and one more when one of them is deleted', async () => {
  const { keys } = openKeys()
  const by = { request_id: null }
  const made = []
  for (let n = 0; n < 200; n += 1) made.push(await keys.add({ agent_type: 'cursor' }, by))
  await expect(keys.add({ agent_type: 'cursor' }, by)).rejects.toMatchObject({ code: 'limit_reached' })
  await keys.remove(made[0]?.id ?? '', by)
  expect(keys.find(made[0]?.key ?? '')).toBeUndefined()
  expect(await keys.add({ agent_type: 'cursor' }, by)).toMatchObject({ agent_type: 'cursor' })
})
