import { expect, test } from 'vitest'
import { changed } from '../fixtures/oauth/interceptions.ts'
import { callbackOf, decide, openLogins, openRemote, userOf } from '../support/logins.ts'
import { movableClock } from '../support/movable-clock.ts'
import { openTestService } from '../support/test-service.ts'
import { UserAgent } from '../support/user-agent.mjs'

const TEN_MINUTES_MS = 600_000

test.each(['modern', 'legacy'] as const)(
  'a login in a browser ends at /oauth/done without code or state, and calls to a %s server are answered',
  async (era) => {
    const { authorization, server, service, user, id } = await openLogins({ server: { era } })
    expect((await user.call(id)).body).toMatchObject({ code: 'login_needed', status: 409 })
    expect(await user.auth(id)).toMatchObject({ state: 'needs_login', wanted_scopes: ['mcp:read'] })
    expect(authorization.registered).toEqual([]) // only a person starts a login

    const start = await user.begin(id)
    expect(start).toMatchObject({ issuer: authorization.issuer, scopes: ['mcp:read', 'offline_access'] })
    const { port } = new URL(service.address)
    expect(start.redirect_uri).toMatch(new RegExp(`^http://127.0.0.1:${port}/oauth/callback/[\\w-]{22}$`))
    const page = await decide(new UserAgent(), start.authorization_url)
    expect(page).toMatchObject({ status: 200, text: expect.stringContaining('2 tools') })
    expect(new URL(page.url).pathname).toBe('/oauth/done')
    expect(page.url).not.toMatch(/code=|state=/)

    expect((await user.call(id)).body).toMatchObject({ content: [{ text: 'hello' }] })
    expect(await user.auth(id)).toMatchObject({
      state: 'logged_in',
      method: 'login',
      issuer: authorization.issuer,
      client: 'registered',
      scopes: expect.arrayContaining(['mcp:read']),
      pending_until: null,
      error: null,
    })
    // Streams and the end of a session carry the token, too.
    await user.must(204, 'DELETE', `/http-servers/${id}`)
    if (era === 'legacy')
      await expect.poll(() => server.requests.map(({ method }) => method)).toContain('DELETE')
    const withoutToken = server.requests.slice(server.requests.findIndex(({ status }) => status === 200))
    expect(withoutToken.filter(({ token }) => token === undefined)).toEqual([])
  },
)

test('a callback at the path of another issuer is refused before its code is sent anywhere, and each server has a client of its own', async () => {
  const { authorization, server, user, id } = await openLogins()
  const other = await user.add(server.url.replace('/mcp', '/mcp?other'), { name: 'other' })
  const foreign = await openRemote()
  const third = await user.add(foreign.server.url, { name: 'third' })
  const start = await user.begin(id)
  const elsewhere = await user.begin(third)
  expect(new URL(elsewhere.redirect_uri).pathname).not.toBe(new URL(start.redirect_uri).pathname)

  const { search } = new URL(await callbackOf(start.authorization_url))
  const page = await new UserAgent().open(elsewhere.redirect_uri + search, {
    from: foreign.authorization.issuer,
  })
  expect(page.text).toContain('The callback does not come from')
  expect(authorization.requests('/token') + foreign.authorization.requests('/token')).toBe(0)
  expect(await user.auth(id)).toMatchObject({ state: 'refused', error: { code: 'issuer_mismatch' } })

  await user.logIn(id)
  expect((await user.begin(other)).issuer_used_by).toEqual([id])
})

test('the tokens of a login at the page for agents wait for a confirmation, and so does the call', async () => {
  const { service, user, id } = await openLogins()
  const { start_url } = (await user.call(id)).body
  const logInThere = async () => {
    const agent = new UserAgent()
    const page = await agent.open(start_url)
    const issuer = await agent.open(page.url, { form: {}, from: page.url })
    return agent.open(issuer.url, { form: { decision: 'allow' }, from: issuer.url })
  }
  expect((await logInThere()).text).toContain(`toolroom login confirm ${id}`)
  expect(await user.auth(id)).toMatchObject({ state: 'needs_login', confirm_until: expect.any(String) })
  expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })

  const confirm = (accept: boolean) => user.ask('POST', `/http-servers/${id}/login/confirm`, { accept })
  expect((await confirm(false)).body).toMatchObject({ ok: false, problem: { code: 'access_denied' } })
  expect((await confirm(true)).body).toMatchObject({ code: 'login_unknown' })
  expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })

  const again = (await user.call(id)).body.start_url
  const agent = new UserAgent()
  const page = await agent.open(again)
  const issuer = await agent.open(page.url, { form: {}, from: page.url })
  await agent.open(issuer.url, { form: { decision: 'allow' }, from: issuer.url })
  expect((await confirm(true)).body).toMatchObject({ ok: true, tools: 2, unconfirmed: false })
  expect((await user.call(id)).body).toMatchObject({ content: [{ text: 'hello' }] })
  const withoutToken = await fetch(`${service.address}/api/http-servers/${id}/login/confirm`, {
    method: 'POST',
  })
  expect(withoutToken.status).toBe(401)
})

test('while a login is pending a second request gets the same one, and a pasted address ends it', async () => {
  const { authorization, user, id } = await openLogins()
  const start = await user.begin(id)
  expect(await user.must(200, 'POST', `/http-servers/${id}/login`, {})).toEqual(start)
  expect((await user.auth(id)).pending_until).toBe(start.expires_at)
  const url = await callbackOf(start.authorization_url)
  const paste = (text: string) => user.ask('POST', `/http-servers/${id}/login/callback`, { url: text })
  expect((await paste('https://elsewhere.example/?code=1&state=2')).body.code).toBe('login_unknown')
  expect((await paste(url)).body).toMatchObject({ ok: true, tools: 2 })
  expect(await user.auth(id)).toMatchObject({ state: 'logged_in' })
  // The same address again is not sent to the authorization server, which would revoke the tokens.
  await paste(url)
  expect(authorization.requests('/token')).toBe(1)
  expect((await user.call(id)).status).toBe(200)
})

test('a callback that is loaded again does not use the code again, and the login stays', async () => {
  const { authorization, user, id } = await openLogins()
  const url = await callbackOf((await user.begin(id)).authorization_url)
  const agent = new UserAgent()
  expect((await agent.open(url, { from: authorization.issuer })).text).toContain('2 tools')
  expect((await agent.open(url, { from: authorization.issuer })).text).toContain('2 tools')
  expect(authorization.requests('/token')).toBe(1)
  expect((await user.call(id)).status).toBe(200)
})

test('two tabs with the same login make one token request, and both show its outcome', async () => {
  const { authorization, user, id } = await openLogins()
  const { authorization_url } = await user.begin(id)
  const urls = [await callbackOf(authorization_url), await callbackOf(authorization_url)]
  const pages = await Promise.all(
    urls.map((url) => new UserAgent().open(url, { from: authorization.issuer })),
  )
  expect(pages.map(({ text }) => text.includes('2 tools'))).toEqual([true, true])
  expect(authorization.requests('/token')).toBe(1)
  expect((await user.call(id)).status).toBe(200)
})

test('a wrong state leaves the pending login alone, and a wrong or missing iss ends it without a token request', async () => {
  const { authorization, user, id } = await openLogins()
  const { authorization_url } = await user.begin(id)
  const url = await callbackOf(authorization_url)
  const open = (change: (query: URLSearchParams) => void) => {
    const other = new URL(url)
    change(other.searchParams)
    return new UserAgent().open(other.href, { from: authorization.issuer })
  }
  await open((query) => query.set('state', 'x'.repeat(43)))
  await open((query) => query.delete('state'))
  expect(await user.auth(id)).toMatchObject({ state: 'needs_login', pending_until: expect.any(String) })

  const page = await open((query) => {
    query.set('iss', 'https://evil.example')
    query.set('error', 'access_denied')
    query.set('error_description', 'Visit evil.example to continue')
  })
  expect(page.text).not.toContain('Visit evil.example')
  expect(await user.auth(id)).toMatchObject({ state: 'refused', error: { code: 'issuer_mismatch' } })

  const second = await callbackOf((await user.begin(id)).authorization_url)
  const withoutIss = new URL(second)
  withoutIss.searchParams.delete('iss')
  await new UserAgent().open(withoutIss.href, { from: authorization.issuer })
  expect(await user.auth(id)).toMatchObject({ state: 'refused', error: { code: 'issuer_mismatch' } })
  expect(authorization.requests('/token')).toBe(0)
})

test('a user who presses Deny is told so, nothing is stored, and the next login works', async () => {
  const { authorization, user, id } = await openLogins()
  const page = await decide(new UserAgent(), (await user.begin(id)).authorization_url, 'deny')
  expect(page.text).toMatch(/denied|refused/i)
  const refused = await user.auth(id)
  expect(refused).toMatchObject({ state: 'refused', error: { code: 'access_denied' } })
  expect(refused.error?.message).toContain(new URL(authorization.issuer).host)
  expect(authorization.requests('/token')).toBe(0)
  await user.logIn(id)
  expect(await user.auth(id)).toMatchObject({ state: 'logged_in', error: null })
})

test('a callback that arrives after 10 minutes is refused without a token request', async () => {
  const clock = movableClock()
  const { authorization, user, id } = await openLogins()
  const start = await user.begin(id)
  expect(Date.parse(start.expires_at) - Date.now()).toBeGreaterThan(TEN_MINUTES_MS - 10_000)
  const url = await callbackOf(start.authorization_url)
  clock.jump(TEN_MINUTES_MS + 1_000)
  const page = await new UserAgent().open(url, { from: authorization.issuer })
  expect(page.text).not.toContain('2 tools')
  expect(authorization.requests('/token')).toBe(0)
  expect(await user.auth(id)).toMatchObject({ state: 'needs_login', pending_until: null })
})

test('a logout revokes the tokens, and with ?client=true forgets the registration', async () => {
  const { authorization, server, user, id } = await openLogins()
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  const token = server.requests.at(-1)?.token ?? ''
  await user.must(204, 'DELETE', `/http-servers/${id}/login`)
  expect(await authorization.check(token)).toBeUndefined()
  expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })
  await user.logIn(id)
  expect(authorization.registered).toHaveLength(1)
  await user.must(204, 'DELETE', `/http-servers/${id}/login?client=true`)
  await user.logIn(id)
  expect(authorization.registered).toHaveLength(2)
  await user.must(204, 'DELETE', `/http-servers/${id}/login`)
  await user.logIn(id, { fresh: true })
  expect(authorization.registered).toHaveLength(3)
})

test('a registration whose login saw no callback is replaced: a pruned client is told to the browser only', async () => {
  const { authorization, user, id } = await openLogins()
  await user.logIn(id)
  await user.must(204, 'DELETE', `/http-servers/${id}/login`)
  authorization.deleteClients()
  const shown = await new UserAgent().open((await user.begin(id)).authorization_url)
  expect(shown.status).toBe(400) // the authorization server does not know the client, and does not redirect
  await user.must(204, 'DELETE', `/http-servers/${id}/login`)
  await user.logIn(id)
  expect(await user.auth(id)).toMatchObject({ state: 'logged_in' })
})

test('servers with quirks can be used: one login for each quirk of an answer', async () => {
  const { authorization, user, id } = await openLogins()
  const without = (name: string) => changed(({ [name]: _, ...rest }) => rest)
  const plus = (more: Record<string, unknown>) => changed((body) => ({ ...body, ...more }))
  const foreign = `${btoa('{"alg":"none"}')}.${btoa('{"iss":"https://elsewhere.example","aud":"me"}')}.`
  const quirks = [
    ['/reg', changed((body) => body, 200)],
    ['/token', without('token_type')],
    ['/token', plus({ scope: null })],
    ['/token', plus({ id_token: foreign })],
    ['/token', plus({ expires_in: '3600', token_type: 'bearer' })],
    ['/reg', without('client_secret_expires_at')],
  ] as const
  for (const [path, quirk] of quirks) {
    authorization.intercept(path, quirk)
    await user.logIn(id, { fresh: true })
    expect((await user.call(id)).status).toBe(200)
    authorization.intercept(path, undefined)
    await user.must(204, 'DELETE', `/http-servers/${id}/login?client=true`)
  }
  authorization.intercept(
    '/token',
    changed(() => ({ error: 'invalid_grant' }), 200),
  )
  await user.logIn(id, { fresh: true })
  expect((await user.auth(id)).state).not.toBe('logged_in')
})

test('a given client with a secret, and machine-to-machine credentials, need no registration', async () => {
  const secret = 'a-secret-that-an-administrator-gave'
  const common = { client_secret: secret, token_endpoint_auth_method: 'client_secret_basic' as const }
  const { authorization, server } = await openRemote({
    authorization: {
      registration: false,
      clients: [
        {
          ...common,
          client_id: 'given',
          application_type: 'native',
          grant_types: ['authorization_code', 'refresh_token'],
          redirect_uris: ['http://127.0.0.1/oauth/callback'],
        },
        {
          ...common,
          client_id: 'machine',
          grant_types: ['client_credentials'],
          redirect_uris: [],
          response_types: [],
        },
      ],
    },
  })
  const user = userOf(await openTestService())
  const given = { client_id: 'given', client_secret: secret, issuer: authorization.issuer }
  const id = await user.add(server.url, { oauth: given })
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  expect(await user.auth(id)).toMatchObject({ client: 'given', method: 'login' })

  const machine = { ...given, client_id: 'machine', grant: 'client_credentials' }
  const second = await user.add(server.url, { name: 'machine', oauth: machine })
  expect((await user.call(second)).status).toBe(200)
  expect(await user.auth(second)).toMatchObject({ state: 'logged_in', method: 'client_credentials' })

  const none = await user.add(server.url, { name: 'none' })
  const { body } = await user.ask('POST', `/http-servers/${none}/login`, {})
  expect(body).toMatchObject({ code: 'login_refused', last_error: { code: 'client_needed' } })
  expect(`${body.detail} ${body.hint}`).toContain('/oauth/callback') // what an administrator has to register
})
