import { expect, test } from 'vitest'
import { covers } from '../../../test/support/covers.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import {
  AUTHORISED as headers,
  openTestService,
  type TestService,
} from '../../../test/support/test-service.ts'

const url = '/api/http-servers'
const docs = {
  name: 'Docs',
  url: 'https://docs.example/mcp?key=url-secret',
  headers: { Authorization: 'Bearer header-secret', 'X-Team': 'docs' },
}

const add = (service: TestService, body: object = docs) =>
  service.inject({ method: 'POST', url, headers, body })
const put = (service: TestService, body: object, more = {}) =>
  service.inject({ method: 'PUT', url: `${url}/docs`, headers: { ...headers, ...more }, body })

test('an added HTTP server is listed with masked headers and query', async () => {
  covers('http-servers-list', 'http-servers-add', 'resource-http-server-id', 'resource-fields')
  const service = await openTestService()
  const added = await add(service)
  const listed = await service.inject(`${url}/`)
  expect(added.statusCode).toBe(201)
  expect(listed.json()).toEqual({ items: [added.json()], total: 1, next_cursor: null })
  expect(added.json()).toMatchObject({
    id: 'docs',
    type: 'http',
    url: 'https://docs.example/mcp?key=***',
    transport: 'auto',
    headers: { Authorization: '***', 'X-Team': '***' },
    tags: [],
    revision: 1,
  })
  expect(listed.body).not.toContain('secret')
  expect((await service.inject(`${url}/Docs`)).json()).toEqual(added.json())
})

test('an update changes the given fields and keeps the others, and an empty update is refused', async () => {
  covers('http-servers-update', 'does-update-http-server')
  const service = await openTestService()
  await add(service)
  const updated = await put(service, { transport: 'sse', tags: ['a'] })
  expect(updated.json()).toMatchObject({
    transport: 'sse',
    tags: ['a'],
    headers: { Authorization: '***' },
    revision: 2,
  })
  expect((await put(service, {})).json()).toMatchObject({ status: 422, code: 'invalid_input' })
  expect((await put(service, { transport: 'auto' }, { 'if-match': '"1"' })).json()).toMatchObject({
    status: 412,
  })
})

test('a stored secret is not kept for another origin', async () => {
  const service = await openTestService()
  await add(service)
  expect((await put(service, { url: 'https://docs.example/v2?key=***' })).statusCode).toBe(200)
  expect((await put(service, { url: 'https://evil.example/mcp' })).json()).toMatchObject({
    status: 422,
    errors: [{ path: '/headers/Authorization' }],
  })
  expect(
    (await put(service, { url: 'https://evil.example/mcp', headers: { Authorization: '***' } })).statusCode,
  ).toBe(422)
  expect((await put(service, { url: 'https://evil.example/mcp?key=***', headers: {} })).statusCode).toBe(422)
  expect((await put(service, { url: 'https://new.example/mcp', headers: {} })).statusCode).toBe(200)
})

test('deleting an HTTP server answers 204, and the server is no longer found', async () => {
  covers('http-servers-delete')
  const service = await openTestService()
  await add(service)
  expect((await service.inject({ method: 'DELETE', url: `${url}/docs`, headers })).statusCode).toBe(204)
  expect((await service.inject(`${url}/docs`)).statusCode).toBe(404)
})

test('a STDIO server is not found as an HTTP server', async () => {
  const service = await openTestService()
  await service.inject({ method: 'POST', url: '/api/servers', headers, body: { name: 'a', command: 'b' } })
  expect((await service.inject(`${url}/a`)).statusCode).toBe(404)
  expect((await service.inject({ method: 'DELETE', url: `${url}/a`, headers })).statusCode).toBe(404)
  expect((await service.inject('/api/servers/a')).statusCode).toBe(200)
})

const empty = sharedByTests(() => openTestService())

test.each([
  'file:///etc/passwd',
  'data:text/plain,x',
  'javascript:alert(1)',
  'ftp://a.example',
  'https://me:pw@a.example',
  'https://me@a.example',
  'https://',
  'https:// a.example',
  'a.example',
  'https://a.example/mcp?key=***',
  'https://[::1',
])('the URL %s is refused as invalid', async (bad) => {
  const service = await empty()
  const reply = await add(service, { name: 'a', url: bad })
  expect(reply.json()).toMatchObject({ status: 422, code: 'invalid_input', errors: [{ path: '/url' }] })
})

test.each([
  'http://169.254.169.254/latest',
  'http://[::ffff:169.254.169.254]/',
  'http://2852039166/',
  'http://[fe80::1]/',
  'http://metadata.google.internal/',
])('the URL %s is refused as a blocked address', async (bad) => {
  const service = await empty()
  expect((await add(service, { name: 'a', url: bad })).json()).toMatchObject({
    status: 422,
    code: 'blocked_address',
  })
})

test.each([
  [{ 'X-A': 'a\r\nX-B: c' }],
  [{ 'X-A': 'a\u0000' }],
  [{ 'X A': 'a' }],
  [{ '': 'a' }],
  [{ 'X-A': '日本' }],
  [{ Host: 'a' }],
  [{ 'content-length': '1' }],
  [{ 'Transfer-Encoding': 'chunked' }],
  [{ CONNECTION: 'close' }],
  [{ 'X-A': 'a', 'x-a': 'b' }],
  [{ 'X-A': '***' }],
])('the headers %j are refused', async (bad) => {
  const service = await empty()
  expect((await add(service, { ...docs, headers: bad })).json()).toMatchObject({
    status: 422,
    code: 'invalid_input',
  })
})

test('a secret in the host of a URL appears nowhere when the connection fails (safety goal R24)', async () => {
  const env = { HTTPS_PROXY: 'http://127.0.0.1:9' } // fails at once, and its hint names the host
  const service = await openTestService({ env })
  const secret = 'Canary-Tenant-77'
  await service.inject({ method: 'PUT', url: '/api/secrets/TENANT', headers, body: { value: secret } })
  await add(service, { name: 'Docs', url: `https://$\{secret:TENANT}.invalid/mcp` })
  const call = {
    method: 'POST',
    url: '/api/servers/docs/tools/x/call',
    headers,
    body: { arguments: {} },
  } as const
  const replies = [
    await service.inject({ method: 'POST', url: `${url}/docs/test`, headers }),
    await service.inject(call),
    await service.inject({ method: 'POST', url: `${url}/docs/login`, headers, body: {} }),
    await service.inject(`${url}/docs`),
    await service.inject('/api/servers/docs'),
    await service.inject('/api/logs'),
    await service.inject('/api/calls'),
    await service.inject({ url: `${url}/docs/login`, headers }),
  ]
  const error = { code: 'proxy_failed', hint: expect.stringContaining('list ***.invalid in NO_PROXY') }
  expect(replies[0]?.json()).toMatchObject({ ok: false, error })
  expect(replies[3]?.json()).toMatchObject({ last_error: error })
  for (const { body } of replies) expect(body.toLowerCase()).not.toContain(secret.toLowerCase())
})
