import { expect, test } from 'vitest'
import { verdictOn } from '../../../test/support/answers.ts'
import { openLoginServer } from '../../../test/support/login-server.ts'
import { post } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'

const PATH = '/api/http-servers/linear/login'

/** A service with a server that needs a login. */
async function openWithServer(env: Record<string, string> = {}) {
  const service = await openTestService({ env })
  const server = await openLoginServer()
  expect((await post(service, '/api/http-servers', { name: 'linear', url: server.url })).statusCode).toBe(201)
  return { service, ...server }
}

const begin = async (service: TestService, input = {}) => {
  const reply = await post(service, PATH, input)
  return { status: reply.statusCode, ...reply.json() }
}

const stateOf = async (service: TestService) =>
  (await service.inject({ url: PATH, headers: AUTHORISED })).json()

/** The audit rows about this. */
const audited = async (service: TestService, action: string) => {
  const { items } = (await service.inject({ url: '/api/logs?source=audit', headers: AUTHORISED })).json<{
    items: { data: { action: string } }[]
  }>()
  return items.filter(({ data }) => data.action === action).map(({ data }) => data)
}

/** What a browser shows after all redirects. */
async function browse(url: string, init: RequestInit = {}) {
  const response = await fetch(url, init)
  return {
    url: response.url,
    status: response.status,
    headers: response.headers,
    html: await response.text(),
  }
}

test('a login begins with the token, goes through the pages of Toolroom, and ends with the number of tools (docs/login.md)', async () => {
  const { service, issuer, seen } = await openWithServer({ PROTECT_READS: 'true' })
  for (const [method, url] of [
    ['POST', PATH],
    ['POST', `${PATH}/callback`],
    ['GET', PATH],
    ['DELETE', PATH],
  ] as const)
    expect(await verdictOn(service, { method, url })).toEqual([401, 'missing_token'])

  const started = await begin(service)
  expect(started).toEqual({
    status: 201,
    authorization_url: expect.stringContaining(`${issuer}/authorize?`),
    start_url: expect.stringMatching(new RegExp(`^${service.address}/oauth/start/[\\w-]{22}$`)),
    redirect_uri: expect.stringMatching(new RegExp(`^${service.address}/oauth/callback/[\\w-]{22}$`)),
    issuer,
    issuer_used_by: [],
    scopes: ['read', 'write'],
    expires_at: expect.any(String),
  })
  expect(Date.parse(started.expires_at) - Date.now()).toBeGreaterThan(590_000)
  expect(await begin(service)).toMatchObject({ ...started, status: 200, expires_at: expect.any(String) })
  expect(seen.registrations).toBe(1)
  expect(await stateOf(service)).toMatchObject({
    auth: { state: 'needs_login', pending_until: started.expires_at },
  })

  const start = await browse(started.start_url)
  expect(start.status).toBe(200)
  expect(start.html).toContain('Log in to linear')
  expect(start.html).toContain(new URL(issuer).host)
  expect(Object.fromEntries(start.headers)).toMatchObject({
    'referrer-policy': 'same-origin',
    'cache-control': 'no-store',
    'content-security-policy': expect.stringContaining(`form-action 'self' ${issuer} `),
  })
  const form = { 'content-type': 'application/x-www-form-urlencoded', origin: service.address }
  const sent = await fetch(started.start_url, { method: 'POST', headers: form, redirect: 'manual' })
  expect([sent.status, sent.headers.get('location')]).toEqual([303, started.authorization_url])
  expect(sent.headers.get('set-cookie')).toBeNull()

  const back = await fetch(started.authorization_url, { redirect: 'manual' })
  const callback = back.headers.get('location') ?? ''
  const head = await fetch(callback, { method: 'HEAD', redirect: 'manual' })
  expect(head.status).toBe(405)
  const done = await browse(callback)
  expect(done.url).toMatch(new RegExp(`^${service.address}/oauth/done\\?id=[\\w-]+$`))
  expect(done.html).toContain('Logged in to linear')
  expect(done.html).toContain('2 tools are available')
  expect(Object.fromEntries(done.headers)).toMatchObject({
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-store',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  })
  expect((await browse(callback)).html).toBe(done.html) // a reload, or a second tab
  expect(await stateOf(service)).toMatchObject({
    auth: {
      state: 'logged_in',
      scopes: ['read', 'write'],
      issuer,
      client: 'registered',
      pending_until: null,
    },
    account: null,
  })
  const used = await browse(started.start_url)
  expect([used.status, used.html.includes('This link is no longer valid')]).toEqual([404, true])
})

test('the page says who denied the access, and an answer to an unknown login is explained', async () => {
  const { service, issuer, next } = await openWithServer()
  next.decision = 'deny'
  const { authorization_url } = await begin(service)
  const denied = await browse(authorization_url)
  expect(denied.html).toContain('Not logged in to linear')
  expect(await stateOf(service)).toMatchObject({
    auth: { state: 'refused', error: { code: 'access_denied' } },
  })
  expect(await audited(service, 'server_login_failed')).toMatchObject([{ issuer, code: 'access_denied' }])
  for (const place of ['', '/of-an-issuer', '/no%20digest', `/${'x'.repeat(200)}`]) {
    const unknown = await browse(`${service.address}/oauth/callback${place}?code=a&state=b`)
    expect(unknown.url).toBe(`${service.address}/oauth/done`)
    expect(unknown.html).toContain('No login is waiting for this answer')
  }
})

test('a login whose server was changed meanwhile ends without a token, which would belong to another server', async () => {
  const { service, issuer, seen, url } = await openWithServer()
  const { authorization_url } = await begin(service)
  const payload = { name: 'linear', url: `${url}/other` }
  const change = { url: '/api/http-servers/linear', headers: AUTHORISED, payload }
  expect((await service.inject({ method: 'PUT', ...change })).statusCode).toBe(200)
  const { html } = await browse(authorization_url)
  expect(html).toContain('Not logged in to linear')
  expect(html).toContain('was changed during the login')
  expect(seen.tokens).toBe(0)
  expect(await audited(service, 'server_login_failed')).toMatchObject([{ issuer, code: 'resource_mismatch' }])
})

test('the address of the last page can be pasted, once, for the server that it belongs to', async () => {
  const { service, url } = await openWithServer()
  await post(service, '/api/http-servers', { name: 'other', url })
  const { authorization_url } = await begin(service)
  const back = await fetch(authorization_url, { redirect: 'manual' })
  const given = { url: back.headers.get('location') ?? '' }
  expect((await post(service, '/api/http-servers/other/login/callback', given)).json()).toMatchObject({
    status: 409,
    code: 'login_unknown',
  })
  expect((await post(service, `${PATH}/callback`, given)).json()).toEqual({
    server_id: 'linear',
    server_name: 'linear',
    ok: true,
    account: expect.toSatisfy((account) => account === null || typeof account === 'string'),
    unconfirmed: false,
    tools: 2,
    problem: null,
  })
  expect(
    (await post(service, `${PATH}/callback`, { url: `${service.address}/oauth/callback?state=x` })).json(),
  ).toMatchObject({
    status: 409,
    code: 'login_unknown',
  })
  expect((await post(service, `${PATH}/callback`, { url: 'code=a' })).json()).toMatchObject({
    status: 422,
    errors: [{ path: '/url' }],
  })
})

test('a logout revokes and forgets the login, and cancels a pending one', async () => {
  const { service, seen } = await openWithServer()
  const { authorization_url } = await begin(service)
  await browse(authorization_url)
  const logout = (query = '') =>
    service.inject({ method: 'DELETE', url: `${PATH}${query}`, headers: AUTHORISED })
  expect((await logout()).statusCode).toBe(204)
  expect(seen.revocations).toBe(1)
  expect(await stateOf(service)).toMatchObject({ auth: { scopes: [], pending_until: null } })
  const second = await begin(service)
  expect(seen.registrations).toBe(1)
  expect((await logout('?client=true')).statusCode).toBe(204)
  expect((await browse(second.authorization_url)).html).toContain('No login is waiting')
  expect((await logout('?client=maybe')).statusCode).toBe(422)
})

test('behind a proxy, only the browser that opened the start page can finish the login (docs/login.md)', async () => {
  const { service } = await openWithServer({ PUBLIC_URL: 'https://toolroom.example.com/tools' })
  const started = await begin(service)
  expect(started).toMatchObject({
    authorization_url: started.start_url,
    start_url: expect.stringMatching(/^https:\/\/toolroom\.example\.com\/tools\/oauth\/start\//),
    redirect_uri: expect.stringMatching(
      /^https:\/\/toolroom\.example\.com\/tools\/oauth\/callback\/[\w-]{22}$/,
    ),
  })
  const ticket = started.start_url.split('/').at(-1)
  const open = () => fetch(`${service.address}/oauth/start/${ticket}`, { method: 'POST', redirect: 'manual' })
  const opened = await open()
  const cookie = opened.headers.get('set-cookie') ?? ''
  expect(cookie).toMatch(
    /^__Host-toolroom-login-\w{16}=[\w-]+; Path=\/; Max-Age=600; HttpOnly; Secure; SameSite=Lax$/,
  )
  const back = await fetch(opened.headers.get('location') ?? '', { redirect: 'manual' })
  const { pathname, search } = new URL(back.headers.get('location') ?? '')
  const callback = service.address + pathname.replace('/tools', '') + search
  const [pair = ''] = cookie.split(';')
  for (const stranger of ['', `${pair}x`, pair.replace(/-login-\w+/, '-login-0123456789abcdef')])
    expect((await browse(callback, { headers: { cookie: stranger } })).html).toContain('No login is waiting')
  const own = await fetch(callback, { headers: { cookie: `a=b; ${pair}` }, redirect: 'manual' })
  expect([own.status, own.headers.get('location')]).toEqual([303, expect.stringMatching(/^\.\.\/done\?id=/)])
  expect(own.headers.get('set-cookie')).toContain('Max-Age=0')
  expect(await stateOf(service)).toMatchObject({ auth: { state: 'logged_in' } })
})

test('neither the log nor the audit trail contains the code or the state of a login', async () => {
  const { service, seen } = await openWithServer({ LOG_LEVEL: 'trace' })
  const { authorization_url, start_url } = await begin(service)
  await browse(start_url)
  await browse(authorization_url)
  await browse(`${service.address}/oauth/callback?code=unknown-code&state=unknown-state`)
  const log = (await service.inject('/api/logs/download?format=ndjson')).body
  expect(log).toContain('GET /oauth/callback 303')
  expect(log).toContain('server_login_completed')
  const state = new URL(authorization_url).searchParams.get('state') ?? ''
  for (const secret of [
    state,
    ...seen.codes,
    'unknown-code',
    'unknown-state',
    start_url.split('/').at(-1) ?? '',
  ])
    expect(log.includes(secret), secret).toBe(false)
})
