/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openHttp } from '../../../test/fixtures/http/sites.ts'
import { tiny } from '../../../test/fixtures/http/tiny.ts'
import { add } from '../../../test/support/furnished.ts'
import { AUTHORISED, type House, openHouse } from '../../../test/support/house.ts'
import { definition, get, post, register } from '../../../test/support/running.ts'

async function request(house: House, method: 'GET' | 'PUT' | 'DELETE', url: string, payload?: object) {
  const reply = await house.inject({ method, url, headers: AUTHORISED, ...(payload && { payload }) })
  return { status: reply.statusCode, body: reply.body === '' ? null : reply.json() }
}
const setSecret = (house: House, name: string, value: string) =>
  request(house, 'PUT', `/api/secrets/${name}`, { value })

const FIRST = 'first-value-0123456789'
const SECOND = 'second-value-0123456789'

test('a secret is set, listed without its value, survives a restart, and is sealed on disk (api.md, References)', async () => {
  const house = await openHouse()
  expect(await request(house, 'GET', '/api/secrets')).toMatchObject({ body: { items: [], total: 0 } })
  const set = await setSecret(house, 'TOKEN', FIRST)
  expect(set).toEqual({
    status: 200,
    body: { name: 'TOKEN', used_by: [], updated_at: expect.stringMatching(/Z$/) },
  })
  expect(await setSecret(house, 'TOKEN', FIRST)).toEqual(set)
  await house.close()
  const stored = readdirSync(house.data)
    .filter((file) => file.startsWith('toolroom.db'))
    .map((file) => readFileSync(join(house.data, file)).toString('latin1'))
  expect(stored.join('')).toContain('TOKEN')
  expect(stored.join('')).not.toContain(FIRST)

  const again = await openHouse({ home: house.home })
  expect(await request(again, 'GET', '/api/secrets')).toMatchObject({ body: { items: [set.body] } })
  await register(again, 'leaky', [], { env: { MY_SECRET: '${secret:TOKEN}' } })
  const inUse = await request(again, 'DELETE', '/api/secrets/TOKEN')
  expect(inUse).toMatchObject({ status: 409, body: { code: 'secret_in_use', servers: ['leaky'] } })
  expect((await request(again, 'DELETE', '/api/secrets/TOKEN?force=true')).status).toBe(204)
  expect((await request(again, 'DELETE', '/api/secrets/TOKEN')).status).toBe(404)
})

test('the routes of secrets require the token, and a name or value that is not allowed is refused', async () => {
  const house = await openHouse()
  for (const [method, url] of [
    ['GET', '/api/secrets'],
    ['PUT', '/api/secrets/A'],
    ['DELETE', '/api/secrets/A'],
  ] as const)
    expect((await house.inject({ method, url })).statusCode).toBe(401)
  expect((await setSecret(house, 'a b', 'x')).status).toBe(422)
  expect((await setSecret(house, 'a'.repeat(129), 'x')).status).toBe(422)
  expect((await setSecret(house, 'A', '')).status).toBe(422)
})

test('references are resolved at each start, shown as they are, and their values are masked in log lines', async () => {
  const house = await openHouse({ env: { GIVEN: 'given-value-0123456789' } })
  await setSecret(house, 'TOKEN', FIRST)
  const env = { MY_SECRET: '${secret:TOKEN}', OTHER: 'x ${env:GIVEN}' }
  const view = await register(house, 'leaky', ['--every=1000000', '${env:GIVEN}', '--key=${env:GIVEN}'], {
    env,
  })
  expect(view.env).toEqual({ MY_SECRET: '${secret:TOKEN}', OTHER: '***' })
  expect(view.args.slice(2)).toEqual(['${env:GIVEN}', '--key=***'])
  expect(await request(house, 'GET', '/api/secrets')).toMatchObject({
    body: { items: [{ name: 'TOKEN', used_by: ['leaky'] }] },
  })

  const started = await post(house, '/api/servers/leaky/start')
  expect(started.statusCode, started.body).toBe(200)
  const told = await post(house, '/api/servers/leaky/tools/tell/call', {})
  expect(told.json()).toMatchObject({ content: [{ text: `MY_SECRET is ${FIRST}` }] })
  const logs = await house.inject('/api/logs?limit=1000')
  expect(logs.body).toContain('MY_SECRET is ***')
  expect(logs.body).not.toContain(FIRST)
  expect((await get(house, 'leaky')).restart_needed).toBe(false)

  // A change restarts nothing. The process keeps the old value, which stays masked.
  const { pid } = await get(house, 'leaky')
  await setSecret(house, 'TOKEN', SECOND)
  expect(await get(house, 'leaky')).toMatchObject({ pid, restart_needed: true })
  const list = (await house.inject('/api/servers')).json()
  expect(list.items[0]).toMatchObject({ restart_needed: true })
  expect((await post(house, '/api/servers/leaky/restart')).json()).toMatchObject({ restart_needed: false })
  const both = await house.inject('/api/logs?limit=1000')
  for (const value of [FIRST, SECOND, 'given-value-0123456789']) expect(both.body).not.toContain(value)

  await post(house, '/api/servers/leaky/stop')
  await request(house, 'DELETE', '/api/secrets/TOKEN?force=true')
  const failed = await post(house, '/api/servers/leaky/start')
  expect(failed.statusCode).toBe(502)
  expect(failed.json()).toMatchObject({
    last_error: {
      code: 'missing_setting',
      message: "The secret 'TOKEN' is not set, but env MY_SECRET refers to it",
      hint: 'Set it with PUT /api/secrets/TOKEN',
    },
  })
  expect(await get(house, 'leaky')).toMatchObject({ status: 'failed', next_retry_at: null })
})

test('a missing variable is named with where to set it, and settings of Toolroom cannot be referred to', async () => {
  const house = await openHouse()
  await register(house, 'echo', ['${env:NOT_SET}'])
  expect((await post(house, '/api/servers/echo/start')).json()).toMatchObject({
    last_error: {
      code: 'missing_setting',
      message: 'The environment variable NOT_SET is not set for Toolroom, but argument 2 refers to it',
      hint: expect.stringContaining('restart Toolroom'),
    },
  })
  const refused = [
    { env: { A: '${env:AUTH_TOKEN}' } },
    { env: { A: 'x ${env:toolroom_secret_key:-x}' } },
    { args: ['${env:TOOLROOM_ANYTHING}'] },
    { args: ['${env:LOG_LEVEL}'] },
    { env: { A: '${env:not closed' } },
    { env: { A: '${secret:}' } },
  ]
  for (const fields of refused) {
    const reply = await add(house, definition('deaf', [], fields))
    expect(reply.statusCode, JSON.stringify(fields)).toBe(422)
  }
  const headers = { Authorization: 'Bearer ${env:AUTH_TOKEN}' }
  const http = { name: 'Remote', url: 'https://x.example/', headers }
  expect((await add(house, http, '/api/http-servers')).json()).toMatchObject({
    status: 422,
    detail: 'headers/Authorization refers to AUTH_TOKEN, which is a setting of Toolroom',
  })
  const change = { method: 'PATCH', url: '/api/servers/echo', headers: AUTHORISED } as const
  const patched = await house.inject({ ...change, payload: { env: { A: '${env:HOST}' } } })
  expect(patched.statusCode).toBe(422)
})

test('an HTTP server is reached with the values of its references, and connected again when a secret changes', async () => {
  const seen: (string | undefined)[] = []
  const site = await openHttp(async (asked, response) => {
    seen.push(`${asked.url} ${asked.headers.authorization}`)
    await tiny(asked, response)
  })
  const port = new URL(site.origin).port
  const house = await openHouse({ env: { REMOTE_PORT: port, SECTION: 'a/b' } })
  const remote = {
    name: 'Remote',
    url: 'http://127.0.0.1:${env:REMOTE_PORT}/${env:SECTION:-none}',
    headers: { Authorization: 'Bearer ${secret:KEY}' },
  }
  const added = await add(house, remote, '/api/http-servers')
  expect(added.statusCode, added.body).toBe(201)
  expect(added.json()).toMatchObject({ url: remote.url, headers: { Authorization: '***' } })

  const missing = await post(house, '/api/http-servers/remote/test')
  expect(missing.json()).toMatchObject({
    ok: false,
    steps: [],
    error: {
      code: 'missing_setting',
      message: "The secret 'KEY' is not set, but header Authorization refers to it",
    },
  })
  const view = () => house.inject('/api/http-servers/remote')
  expect((await view()).json()).toMatchObject({ status: 'error', next_check_at: null })
  expect(seen).toEqual([])

  await setSecret(house, 'KEY', FIRST)
  expect((await post(house, '/api/http-servers/remote/test')).json()).toMatchObject({ ok: true })
  const [tool] = (await house.inject('/api/http-servers/remote/tools')).json().items ?? []
  expect(new Set(seen)).toEqual(new Set([`/a/b Bearer ${FIRST}`]))

  const call = () => post(house, `/api/http-servers/remote/tools/${tool?.name ?? 'echo'}/call`, {})
  await call()
  await setSecret(house, 'KEY', SECOND)
  seen.length = 0
  await call()
  expect(new Set(seen)).toEqual(new Set([`/a/b Bearer ${SECOND}`]))
  // Neither value is sent elsewhere: a changed origin needs the headers again.
  const moved = await request(house, 'PUT', '/api/http-servers/remote', { url: 'https://${env:SECTION}/' })
  expect(moved).toMatchObject({ status: 422, body: { errors: [{ path: '/headers/Authorization' }] } })
  await setSecret(house, 'KEY', 'line\nbreak')
  expect((await post(house, '/api/http-servers/remote/test')).json()).toMatchObject({
    error: { code: 'invalid_setting', message: expect.stringContaining('header Authorization') },
  })
})
