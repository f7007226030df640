import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { AUTHORISED, openHouse } from '../../../test/support/house.ts'
import type { KeyView, NewKey } from './keys.schema.ts'

async function keyHouse() {
  const house = await openHouse()
  const ask = (method: 'GET' | 'POST' | 'DELETE', path: string, payload?: object) =>
    house.inject({ method, url: `/api/keys${path}`, headers: AUTHORISED, ...(payload && { payload }) })
  return { house, ask }
}

test('a key is shown once, listed without itself, and taken away', async () => {
  const { house, ask } = await keyHouse()
  const made = await ask('POST', '', { agent_type: 'cursor', name: 'my laptop' })
  expect(made.statusCode).toBe(201)
  const { id, key, ...rest } = made.json<NewKey>()
  expect(made.headers.location).toBe(`/api/keys/${id}`)
  expect(key).toMatch(/^tk_[\w-]{43}$/)
  expect(rest).toMatchObject({ name: 'my laptop', agent_type: 'cursor', last_used_at: null })
  const list = await ask('GET', '')
  expect(list.json<{ items: KeyView[] }>().items).toMatchObject([{ id, name: 'my laptop' }])
  expect(list.body).not.toContain(key)
  expect(readFileSync(join(house.data, 'toolroom.db')).includes(key)).toBe(false)
  expect((await ask('DELETE', `/${id}`)).statusCode).toBe(204)
  expect((await ask('DELETE', `/${id}`)).statusCode).toBe(404)
  expect((await ask('GET', '')).json().total).toBe(0)
})

test('keys need the token, and a key opens nothing under /api', async () => {
  const { house, ask } = await keyHouse()
  const { key } = (await ask('POST', '', { agent_type: 'cursor' })).json<NewKey>()
  expect((await house.inject('/api/keys')).statusCode).toBe(401)
  for (const headers of [{ 'x-svc-token': key }, { authorization: `Bearer ${key}` }])
    expect((await house.inject({ url: '/api/keys', headers })).statusCode).toBe(401)
})

test.each([
  {},
  { agent_type: '' },
  { agent_type: 'A b' },
  { agent_type: 'x', name: 'a\nb' },
  { agent_type: 'x', more: 1 },
])('the input %j is refused', async (payload) => {
  const { ask } = await keyHouse()
  expect((await ask('POST', '', payload)).statusCode).toBe(422)
})
