/* biome-ignore-all lint/suspicious/noTemplateCurlyInString: references are written like this */

import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openHttp } from '../../../test/fixtures/http/sites.ts'
import { tiny } from '../../../test/fixtures/http/tiny.ts'
import { definition, get, post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { add } from '../../../test/support/with-servers.ts'

async function request(
  service: TestService,
  method: 'GET' | 'PUT' | 'DELETE',
  url: string,
  payload?: object,
) {
  const reply = await service.inject({ method, url, headers: AUTHORISED, ...(payload && { payload }) })
  return { status: reply.statusCode, body: reply.body === '' ? null : reply.json() }
}
const setSecret = (service: TestService, name: string, value: string) =>
  request(service, 'PUT', `/api/secrets/${name}`, { value })

const FIRST = 'first-value-0123456789'
const SECOND = 'second-value-0123456789'

test('a secret is set, listed without its value, survives a restart, and is sealed on disk (docs/references.md)', async () => {
  const service = await openTestService()
  expect(await request(service, 'GET', '/api/secrets')).toMatchObject({ body: { items: [], total: 0 } })
  const set = await setSecret(service, 'TOKEN', FIRST)
  expect(set).toEqual({
    status: 200,
    body: { name: 'TOKEN', used_by: [], updated_at: expect.stringMatching(/Z$/) },
  })
  expect(await setSecret(service, 'TOKEN', FIRST)).toEqual(set)
  await service.close()
  const stored = readdirSync(service.data)
    .filter((file) => file.startsWith('toolroom.db'))
    .map((file) => readFileSync(join(service.data, file)).toString('latin1'))
  expect(stored.join('')).toContain('TOKEN')
  expect(stored.join('')).not.toContain(FIRST)

  const again = await openTestService({ home: service.home })
  expect(await request(again, 'GET', '/api/secrets')).toMatchObject({ body: { items: [set.body] } })
  const told = await post(again, '/api/redact', { text: `a server says ${FIRST}` })
  expect(told.json()).toEqual({ text: 'a server says ***' }) // also of a server that does not refer to it
  await register(again, 'leaky', [], { env: { MY_SECRET: '${secret:TOKEN}' } })
  const inUse = await request(again, 'DELETE', '/api/secrets/TOKEN')
  expect(inUse).toMatchObject({ status: 409, body: { code: 'secret_in_use', servers: ['leaky'] } })
  expect((await request(again, 'DELETE', '/api/secrets/TOKEN?force=true')).status).toBe(204)
  expect((await request(again, 'DELETE', '/api/secrets/TOKEN')).status).toBe(404)
})

test('the routes of secrets require the token, and a name or value that is not allowed is refused', async () => {
  const service = await openTestService()
  for (const [method, url] of [
    ['GET', '/api/secrets'],
    ['PUT', '/api/secrets/A'],
    ['DELETE', '/api/secrets/A'],
  ] as const)
    expect((await service.inject({ method, url })).statusCode).toBe(401)
  expect((await setSecret(service, 'a b', 'x')).status).toBe(422)
  expect((await setSecret(service, 'a'.repeat(129), 'x')).status).toBe(422)
  expect((await setSecret(service, 'A', '')).status).toBe(422)
})

test('references are resolved at each start, shown as they are, and their values are masked in log lines', async () => {
  const service = await openTestService({ env: { GIVEN: 'given-value-0123456789' } })
  await setSecret(service, 'TOKEN', FIRST)
  const env = { MY_SECRET: '${secret:TOKEN}', OTHER: 'x ${env:GIVEN}' }
  const view = await register(service, 'leaky', ['--every=1000000', '${env:GIVEN}', '--key=${env:GIVEN}'], {
    env,
  })
  expect(view.env).toEqual({ MY_SECRET: '${secret:TOKEN}', OTHER: '***' })
  expect(view.args.slice(2)).toEqual(['${env:GIVEN}', '--key=***'])
  expect(await request(service, 'GET', '/api/secrets')).toMatchObject({
    body: { items: [{ name: 'TOKEN', used_by: ['leaky'] }] },
  })

  const started = await post(service, '/api/servers/leaky/start')
  expect(started.statusCode, started.body).toBe(200)
  const told = await post(service, '/api/servers/leaky/tools/tell/call', {})
  expect(told.json()).toMatchObject({ content: [{ text: `MY_SECRET is ${FIRST}` }] })
  const logs = await service.inject('/api/logs?limit=1000')
  expect(logs.body).toContain('MY_SECRET is ***')
  expect(logs.body).not.toContain(FIRST)
  expect((await get(service, 'leaky')).restart_needed).toBe(false)

  // A change restarts nothing. The process keeps the old value, which stays masked.
  const { pid } = await get(service, 'leaky')
  await setSecret(service, 'TOKEN', SECOND)
  expect(await get(service, 'leaky')).toMatchObject({ pid, restart_needed: true })
  const list = (await service.inject('/api/servers')).json()
  expect(list.items[0]).toMatchObject({ restart_needed: true })
  expect((await post(service, '/api/servers/leaky/restart')).json()).toMatchObject({ restart_needed: false })
  const both = await service.inject('/api/logs?limit=1000')
  for (const value of [FIRST, SECOND, 'given-value-0123456789']) expect(both.body).not.toContain(value)

  await post(service, '/api/servers/leaky/stop')
  await request(service, 'DELETE', '/api/secrets/TOKEN?force=true')
  const failed = await post(service, '/api/servers/leaky/start')
  expect(failed.statusCode).toBe(502)
  expect(failed.json()).toMatchObject({
    last_error: {
      code: 'missing_setting',
      message: "The secret 'TOKEN' is not set, but env MY_SECRET refers to it",
      hint: 'Set the secret TOKEN',
      action: { kind: 'set_secret', name: 'TOKEN' },
    },
  })
  expect(await get(service, 'leaky')).toMatchObject({ status: 'failed', next_retry_at: null })
})

test('a missing variable is named with where to set it, and settings of Toolroom cannot be referred to', async () => {
  const service = await openTestService()
  await register(service, 'echo', ['${env:NOT_SET}'])
  expect((await post(service, '/api/servers/echo/start')).json()).toMatchObject({
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
    const reply = await add(service, definition('deaf', [], fields))
    expect(reply.statusCode, JSON.stringify(fields)).toBe(422)
  }
  const headers = { Authorization: 'Bearer ${env:AUTH_TOKEN}' }
  const http = { name: 'Remote', url: 'https://x.example/', headers }
  expect((await add(service, http, '/api/http-servers')).json()).toMatchObject({
    status: 422,
    detail: 'headers/Authorization refers to AUTH_TOKEN, which is a setting of Toolroom',
  })
  const change = { method: 'PATCH', url: '/api/servers/echo', headers: AUTHORISED } as const
  const patched = await service.inject({ ...change, payload: { env: { A: '${env:HOST}' } } })
  expect(patched.statusCode).toBe(422)
})

test('an HTTP server is reached with the values of its references, and connected again when a secret changes', async () => {
  const seen: (string | undefined)[] = []
  const site = await openHttp(async (asked, response) => {
    seen.push(`${asked.url} ${asked.headers.authorization}`)
    await tiny(asked, response)
  })
  const port = new URL(site.origin).port
  const service = await openTestService({ env: { REMOTE_PORT: port, SECTION: 'a/b' } })
  const remote = {
    name: 'Remote',
    url: 'http://127.0.0.1:${env:REMOTE_PORT}/${env:SECTION:-none}',
    headers: { Authorization: 'Bearer ${secret:KEY}' },
  }
  const added = await add(service, remote, '/api/http-servers')
  expect(added.statusCode, added.body).toBe(201)
  expect(added.json()).toMatchObject({ url: remote.url, headers: { Authorization: '***' } })

  const missing = await post(service, '/api/http-servers/remote/test')
  expect(missing.json()).toMatchObject({
    ok: false,
    steps: [],
    error: {
      code: 'missing_setting',
      message: "The secret 'KEY' is not set, but header Authorization refers to it",
    },
  })
  const view = () => service.inject('/api/http-servers/remote')
  expect((await view()).json()).toMatchObject({ status: 'error', next_check_at: null })
  expect(seen).toEqual([])

  await setSecret(service, 'KEY', FIRST)
  expect((await post(service, '/api/http-servers/remote/test')).json()).toMatchObject({ ok: true })
  const [tool] = (await service.inject('/api/http-servers/remote/tools')).json().items ?? []
  expect(new Set(seen)).toEqual(new Set([`/a/b Bearer ${FIRST}`]))

  const call = () => post(service, `/api/http-servers/remote/tools/${tool?.name ?? 'echo'}/call`, {})
  await call()
  await setSecret(service, 'KEY', SECOND)
  seen.length = 0
  await call()
  expect(new Set(seen)).toEqual(new Set([`/a/b Bearer ${SECOND}`]))
  // Neither value is sent elsewhere: a changed origin needs the headers again.
  const moved = await request(service, 'PUT', '/api/http-servers/remote', { url: 'https://${env:SECTION}/' })
  expect(moved).toMatchObject({ status: 422, body: { errors: [{ path: '/headers/Authorization' }] } })
  await setSecret(service, 'KEY', 'line\nbreak')
  expect((await post(service, '/api/http-servers/remote/test')).json()).toMatchObject({
    error: { code: 'invalid_setting', message: expect.stringContaining('header Authorization') },
  })
})
