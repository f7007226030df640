import { expect, onTestFinished, test } from 'vitest'
import { openHttp } from '../fixtures/http/sites.ts'
import { openAuthorizationServer } from '../fixtures/oauth/authorization-server.ts'
import { type Interception, send } from '../fixtures/oauth/interceptions.ts'
import { ownFolder } from '../support/folder.ts'
import { decide, openLogins, openRemote, userOf } from '../support/logins.ts'
import { movableClock } from '../support/movable-clock.ts'
import { openTestService } from '../support/test-service.ts'
import { UserAgent } from '../support/user-agent.mjs'

const HOUR_MS = 3_600_000

test('a changed port, path, issuer or client of a server drops its tokens, which are never sent there', async () => {
  const elsewhere = await openHttp((_, response) => void response.writeHead(401).end())
  const { server, authorization, user, id } = await openLogins()
  onTestFinished(() => elsewhere.close())
  const changes = [
    { url: `${elsewhere.origin}/mcp` },
    { url: `${server.origin}/other` },
    { oauth: { issuer: elsewhere.origin } },
    { oauth: { client_id: 'another', issuer: authorization.issuer } },
  ]
  for (const change of changes) {
    await user.must(200, 'PUT', `/http-servers/${id}`, { url: server.url, oauth: null })
    await user.logIn(id)
    expect((await user.call(id)).status).toBe(200)
    const sent = server.requests.length
    await user.must(200, 'PUT', `/http-servers/${id}`, change)
    await expect.poll(async () => (await user.auth(id)).state).not.toBe('logged_in')
    expect((await user.call(id)).status).toBeGreaterThanOrEqual(400)
    expect(server.requests.slice(sent).filter(({ token }) => token !== undefined)).toEqual([])
  }
  expect(elsewhere.received.filter(({ authorization: header }) => header !== undefined)).toEqual([])

  await user.must(200, 'PUT', `/http-servers/${id}`, { url: server.url, oauth: null })
  await user.logIn(id)
  await user.must(200, 'PUT', `/http-servers/${id}`, { name: 'renamed' })
  expect((await user.call(id)).status).toBe(200) // another name is no other server
})

test('a service on another port keeps its logins, and registers anew for the next one', async () => {
  const { authorization, server } = await openRemote()
  const home = ownFolder()
  const service = await openTestService({ home })
  const first = userOf(service)
  const id = await first.add(server.url)
  const { redirect_uri } = await first.begin(id)
  await first.must(204, 'DELETE', `/http-servers/${id}/login`)
  await first.logIn(id)
  await service.close()
  const second = userOf(await openTestService({ home })) // port 0 chooses another one
  expect((await second.call(id)).status).toBe(200)
  await second.must(204, 'DELETE', `/http-servers/${id}/login`)
  expect((await second.begin(id)).redirect_uri).not.toBe(redirect_uri)
  expect(authorization.registered.length).toBeGreaterThan(1)
})

test('a server that moved to another issuer needs a login there, with a client of its own', async () => {
  const moved = await openAuthorizationServer()
  onTestFinished(() => moved.close())
  const { authorization, server, user, id } = await openLogins()
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  server.trust(moved)
  expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  expect(await user.auth(id)).toMatchObject({ state: 'logged_in', issuer: moved.issuer })
  expect([authorization.registered.length, moved.registered.length]).toEqual([1, 1])
})

test('a 403 that wants more scopes asks for a login with all scopes so far, and the old token is kept meanwhile', async () => {
  const { authorization, server, user, id } = await openLogins()
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  server.need('mcp:write')
  expect((await user.call(id)).body).toMatchObject({ code: 'login_needed' })
  expect(await user.auth(id)).toMatchObject({
    state: 'needs_login',
    scopes: expect.arrayContaining(['mcp:read']),
    wanted_scopes: expect.arrayContaining(['mcp:write']),
  })
  server.need('mcp:read')
  expect((await user.call(id)).status).toBe(200) // other calls still work
  server.need('mcp:write')
  expect((await user.call(id)).status).toBe(409)
  const start = await user.begin(id)
  expect(start.scopes).toEqual(expect.arrayContaining(['mcp:read', 'mcp:write']))
  await decide(new UserAgent(), start.authorization_url)
  expect((await user.call(id)).status).toBe(200)
  // This authorization server refuses scopes that a client was not registered for.
  expect(authorization.registered).toHaveLength(2)
})

test('a step-up in vain ends after two tries with scope_refused', async () => {
  const { authorization, server, user, id } = await openLogins()
  await user.logIn(id)
  server.need('mcp:admin')
  let logins = 0
  while ((await user.call(id)).status === 409 && (await user.auth(id)).state === 'needs_login') {
    expect(logins).toBeLessThan(3)
    logins += 1
    await user.logIn(id)
  }
  expect(logins).toBe(2)
  expect(await user.auth(id)).toMatchObject({ state: 'refused', error: { code: 'scope_refused' } })
  expect(authorization.granted).toHaveLength(3)
})

test('a logout or another login during a refresh is not undone by its answer', async () => {
  const clock = movableClock()
  const { authorization, user, id } = await openLogins()
  await user.logIn(id)
  for (const meanwhile of ['logout', 'login']) {
    clock.jump(HOUR_MS)
    let release = () => {}
    const isHeld = new Promise<void>((resolve) => {
      const hold: Interception = async (response, answer) => {
        const real = await answer()
        resolve()
        await new Promise<void>((then) => {
          release = then
        })
        send(response, real)
      }
      authorization.intercept('/token', hold, 1)
    })
    const call = user.call(id)
    await isHeld
    await user.must(204, 'DELETE', `/http-servers/${id}/login`)
    if (meanwhile === 'login') await user.logIn(id)
    const before = await user.auth(id)
    release()
    await call
    const { state, expires_at } = await user.auth(id)
    if (meanwhile === 'logout') expect(state).not.toBe('logged_in')
    else expect({ state, expires_at }).toEqual({ state: 'logged_in', expires_at: before.expires_at })
    if (meanwhile === 'logout') await user.logIn(id)
  }
})

test('after a restart, another login finds the metadata that only the challenge had named', async () => {
  const { authorization, server } = await openRemote({ server: { metadataPath: '/metadata.json' } })
  const home = ownFolder()
  const service = await openTestService({ home })
  const first = userOf(service)
  const id = await first.add(server.url)
  await first.logIn(id)
  await service.close()
  const second = userOf(await openTestService({ home }))
  expect(await second.begin(id)).toMatchObject({ issuer: authorization.issuer })
})
