import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { changed, TROUBLE } from '../fixtures/oauth/interceptions.ts'
import { ownFolder } from '../support/folder.ts'
import { openLogins, openRemote, userOf } from '../support/logins.ts'
import { movableClock } from '../support/movable-clock.ts'
import { openTestService } from '../support/test-service.ts'

const HOUR_MS = 3_600_000
/** Between two attempts at the most. */
const LONGEST_PAUSE_MS = 300_000

const refreshesOf = ({ granted }: { readonly granted: readonly string[] }) =>
  granted.filter((type) => type === 'refresh_token').length

/** A service with a login, whose access token has expired. */
async function openExpired(options: Parameters<typeof openLogins>[0] = {}) {
  const clock = movableClock()
  const opened = await openLogins(options)
  await opened.user.logIn(opened.id)
  expect((await opened.user.call(opened.id)).status).toBe(200)
  clock.jump(HOUR_MS)
  return { ...opened, clock, refreshes: () => refreshesOf(opened.authorization) }
}

test('50 calls at the expiry of a token of 2 s make one refresh, and all are answered', async () => {
  let accessTokenS = 2
  const { authorization, user, id } = await openLogins({
    authorization: { accessTokenS: () => accessTokenS },
  })
  await user.logIn(id)
  accessTokenS = 3600 // the calls may take longer than 2 s on a slow machine
  await sleep(2_100)
  const refreshes = () => refreshesOf(authorization)
  const before = refreshes()
  const tried = authorization.requests('/token')
  const replies = await Promise.all(Array.from({ length: 50 }, (_, at) => user.call(id, `call ${at}`)))
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
  expect(refreshes() - before).toBe(1)
  expect(authorization.requests('/token') - tried).toBe(1)
})

test('a login survives a restart, with the token of the last refresh', async () => {
  const clock = movableClock()
  const { authorization, server } = await openRemote()
  const home = ownFolder()
  const service = await openTestService({ home })
  const first = userOf(service)
  const id = await first.add(server.url)
  await first.logIn(id)
  clock.jump(HOUR_MS)
  expect((await first.call(id)).status).toBe(200)
  await service.close()
  const second = userOf(await openTestService({ home }))
  expect(await second.auth(id)).toMatchObject({ state: 'logged_in', client: 'registered' })
  clock.jump(HOUR_MS)
  expect((await second.call(id)).status).toBe(200)
  expect(authorization.registered).toHaveLength(1)
})

test.each(Object.keys(TROUBLE) as (keyof typeof TROUBLE)[])(
  'the login is kept and the refresh is repeated later after %s of the token endpoint',
  async (name) => {
    const { authorization, user, id, refreshes, clock } = await openExpired()
    authorization.intercept('/token', TROUBLE[name])
    const failed = await user.call(id)
    expect(failed.status).toBeGreaterThanOrEqual(400)
    expect(failed.body.code).not.toBe('login_needed')
    const tried = authorization.requests('/token')
    await Promise.all(Array.from({ length: 10 }, () => user.call(id)))
    expect(authorization.requests('/token')).toBe(tried) // not again for each call
    const auth = await user.auth(id)
    expect(auth).toMatchObject({ state: 'logged_in', error: { code: expect.any(String) } })
    expect(auth.error?.message).toContain(new URL(authorization.issuer).host)
    authorization.intercept('/token', undefined)
    clock.jump(LONGEST_PAUSE_MS)
    expect((await user.call(id)).status).toBe(200)
    expect(await user.auth(id)).toMatchObject({ state: 'logged_in', error: null })
    expect(refreshes()).toBe(1)
  },
)

/** The audit rows about logins that the issuer or the server has ended (docs/login.md). */
async function endsOf({ must }: ReturnType<typeof userOf>): Promise<object[]> {
  const { items } = await must(200, 'GET', '/logs?source=audit')
  return items
    .map(({ data }: { data: object }) => data)
    .filter((row: { action: string }) => row.action === 'server_login_ended')
}

test('a revoked grant ends the login: the client is kept, and the next login needs no registration', async () => {
  const { authorization, user, id } = await openExpired()
  authorization.revokeGrants()
  expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })
  expect(await user.auth(id)).toMatchObject({ state: 'expired', client: 'registered' })
  expect(await endsOf(user)).toMatchObject([{ issuer: authorization.issuer, code: 'invalid_grant' }])
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  expect(authorization.registered).toHaveLength(1)
})

test('a deleted client ends the login, and the next login registers a new one', async () => {
  const { authorization, user, id } = await openExpired({
    authorization: { authMethods: ['client_secret_basic'] },
  })
  authorization.deleteClients()
  expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })
  expect(await user.auth(id)).toMatchObject({ state: 'expired', client: null })
  expect(await endsOf(user)).toMatchObject([{ code: 'invalid_client' }])
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
})

test('a client secret that has expired is not used for another login', async () => {
  const { authorization, user, id } = await openLogins({
    authorization: { authMethods: ['client_secret_basic'] },
  })
  const inOneSecond = () => Math.floor(Date.now() / 1000) + 1
  authorization.intercept(
    '/reg',
    changed((body) => ({ ...body, client_secret_expires_at: inOneSecond() })),
  )
  await user.logIn(id)
  await user.must(204, 'DELETE', `/http-servers/${id}/login`)
  await sleep(1_100)
  await user.logIn(id)
  expect(authorization.registered).toHaveLength(2)
  expect(await user.auth(id)).toMatchObject({ state: 'logged_in' })
})

test('a refresh token stays when the answer has no new one', async () => {
  const { authorization, user, id, refreshes } = await openExpired()
  const given = new Set<unknown>()
  authorization.intercept(
    '/token',
    changed(({ refresh_token, ...rest }) => {
      given.add(refresh_token)
      return rest
    }),
    1,
  )
  expect((await user.call(id)).status).toBe(200)
  expect(given.size).toBe(1)
  expect(refreshes()).toBe(1)
  expect((await user.auth(id)).state).toBe('logged_in')
})

test('a token that the server no longer accepts is refreshed once, and the call is repeated once', async () => {
  const { authorization, server, user, id } = await openLogins()
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  const old = server.requests.at(-1)?.token ?? ''
  server.distrust(old)
  expect((await user.call(id)).status).toBe(200)
  expect(refreshesOf(authorization)).toBe(1)
  expect(server.requests.filter(({ token }) => token === old).at(-1)?.status).toBe(401)

  server.distrust('all')
  const tried = authorization.requests('/token')
  expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })
  expect(authorization.requests('/token') - tried).toBe(1)
  expect(await user.auth(id)).toMatchObject({ state: 'expired' })
  expect(await endsOf(user)).toMatchObject([{ subject: id, code: 'invalid_grant' }])
})

test('a token that expired while the computer was asleep is refreshed by the wall clock, before it is sent', async () => {
  const clock = movableClock()
  const { authorization, server, user, id } = await openLogins()
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  const sent = server.requests.length
  clock.jump(HOUR_MS)
  expect((await user.call(id)).status).toBe(200)
  expect(server.requests.slice(sent).filter(({ status }) => status === 401)).toEqual([])
  expect(refreshesOf(authorization)).toBe(1)
})
