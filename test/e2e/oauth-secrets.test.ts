import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { commandLine } from '../../src/supervisor/platform/linux/proc.ts'
import type { Answer, Interception } from '../fixtures/oauth/interceptions.ts'
import { send } from '../fixtures/oauth/interceptions.ts'
import { Canaries } from '../support/canaries.ts'
import { ownFolder } from '../support/folder.ts'
import { callbackOf, leftMs, openRemote, userOf } from '../support/logins.ts'
import { launchReady } from '../support/program.ts'
import { UserAgent } from '../support/user-agent.mjs'

const SECRET = 'a1Fk3s9Qz0Lw7xTb2Vn6Yc4Rd8Hg5Jm1Pp'

/** Every secret of a login, as the authorization server sees it. */
function recorder(canaries: Canaries) {
  let count = 0
  const keep = (what: string, value: unknown) => {
    if (typeof value !== 'string') return
    count += 1
    canaries.keep(`${what} (${count})`, value)
  }
  const record: Interception = async (response, answer) => {
    const real: Answer = await answer()
    const body = JSON.parse(real.body)
    for (const name of [
      'access_token',
      'refresh_token',
      'id_token',
      'client_secret',
      'registration_access_token',
    ])
      keep(name, body[name])
    send(response, real)
  }
  return { record, keep, secrets: () => count }
}

test('no token, code, verifier or secret of a login is in a response, log line, event, file or command line', async () => {
  const canaries = new Canaries()
  const { record, keep, secrets } = recorder(canaries)
  const { authorization, server } = await openRemote({
    authorization: {
      accessTokenS: 2,
      authMethods: ['client_secret_basic'],
      clients: [
        {
          client_id: 'given',
          client_secret: SECRET,
          application_type: 'native',
          token_endpoint_auth_method: 'client_secret_basic',
          grant_types: ['authorization_code', 'refresh_token'],
          redirect_uris: ['http://127.0.0.1/oauth/callback'],
        },
      ],
    },
    server: { scopes: ['openid', 'email', 'mcp:read'] },
  })
  canaries.keep('the given secret', SECRET)
  for (const path of ['/token', '/reg']) authorization.intercept(path, record)
  const home = ownFolder()
  const running = await launchReady({ home, env: { LOG_LEVEL: 'trace' } })
  const user = userOf(running)
  const said: string[] = []
  const ask = async (method: string, path: string, body?: object) => {
    const reply = await user.ask(method, path, body)
    said.push(`${method} ${path} ${JSON.stringify(reply.body)}`)
    return reply
  }
  const live = new WebSocket(`${running.address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => live.terminate())
  live.on('message', (data) => said.push(`WebSocket ${data}`))
  await once(live, 'open')
  live.send(JSON.stringify({ type: 'subscribe', topics: ['log'] }))

  const registered = await user.add(server.url, { name: 'registered' })
  const oauth = { client_id: 'given', client_secret: SECRET, issuer: authorization.issuer }
  const given = await user.add(server.url, { name: 'given', oauth })
  for (const id of [registered, given]) {
    const start = await user.begin(id)
    const { searchParams } = new URL(start.authorization_url)
    keep('code_challenge', searchParams.get('code_challenge'))
    const url = await callbackOf(start.authorization_url)
    keep('code', new URL(url).searchParams.get('code'))
    keep('state', new URL(url).searchParams.get('state'))
    const page = await new UserAgent().open(url, { from: authorization.issuer })
    said.push(`the page ${page.url} ${page.text}`)
    await expect.poll(async () => leftMs(await user.auth(id))).toBeLessThan(0)
    expect((await ask('POST', `/http-servers/${id}/tools/echo/call`, {})).status).toBe(200) // with a refresh
    // The same address again, a wrong one, and refusals.
    await ask('POST', `/http-servers/${id}/login/callback`, { url })
    await ask('POST', `/http-servers/${id}/login/callback`, { url: url.replace('code=', 'code=x') })
    await ask('PUT', `/http-servers/${id}`, { oauth: { ...oauth, grant: 'nonsense' } })
    for (const path of ['', '/login', '/tools']) await ask('GET', `/http-servers/${id}${path}`)
    await ask('POST', `/http-servers/${id}/test`, {})
  }
  for (const verifier of authorization.verifiers) keep('code_verifier', verifier)
  authorization.revokeGrants()
  await expect.poll(async () => (await user.call(registered)).status).toBe(409)
  await ask('DELETE', `/http-servers/${given}/login`)
  for (const path of ['/logs?limit=1000', '/calls', '/settings', '/health', '/notices', '/events', '/export'])
    await ask('GET', path)
  await user.logIn(registered) // so that the database and its backup have tokens
  const words = commandLine(running.child.pid ?? 0).join(' ')
  const environment = readFileSync(`/proc/${running.child.pid}/environ`, 'latin1')
  running.child.kill('SIGTERM')
  const { stdout, stderr } = await running.ended

  const found = [
    ...said.flatMap((text) => canaries.in(text.slice(0, 60), text)),
    ...canaries.in('stdout', stdout),
    ...canaries.in('stderr', stderr),
    ...canaries.in('the command line', words),
    ...canaries.in('the environment', environment),
    ...canaries.inFiles(join(home, '.local')),
  ]
  expect(found).toEqual([])
  expect(secrets()).toBeGreaterThan(20)
  expect(said.filter((text) => /^WebSocket.*http_server_login/.test(text)).length).toBeGreaterThan(4)
  expect(said.find((text) => text.startsWith('GET /logs'))).toContain('server_login_completed')
  expect(readdirSync(join(running.data, 'backups')).length).toBeGreaterThan(0)
  expect(server.requests.filter(({ status }) => status === 200).length).toBeGreaterThan(0)
})
