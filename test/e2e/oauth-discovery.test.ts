import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../fixtures/http/proxy.ts'
import { openHttp } from '../fixtures/http/sites.ts'
import { type Forged, openForged } from '../fixtures/oauth/forged-metadata.ts'
import { openLogins, userOf } from '../support/logins.ts'
import { openTestService, type TestService } from '../support/test-service.ts'

const LINK_LOCAL = 'https://169.254.169.254'
const PRIVATE = 'https://10.11.12.13'
const MEBIBYTE = 1024 * 1024

/** What a forged document names, and the code of the refusal. `TRAP` is another site on loopback, `OWN` the service. */
const FORGED: [string, (origin: string, at: Places) => Forged, string][] = [
  [
    'metadata of a resource on another host',
    () => ({ resource: { resource: 'https://evil.example/mcp' } }),
    'resource_mismatch',
  ],
  [
    'metadata of a resource that is no whole segment of the path',
    (origin) => ({ resource: { resource: `${origin}/mc` } }),
    'resource_mismatch',
  ],
  [
    'an issuer at a link-local address',
    () => ({ resource: { authorization_servers: [LINK_LOCAL] } }),
    'login_unavailable',
  ],
  [
    'an issuer without TLS that is not on loopback',
    () => ({ resource: { authorization_servers: ['http://issuer.example'] } }),
    'login_unavailable',
  ],
  [
    'an issuer with a user name',
    (origin) => ({ resource: { authorization_servers: [origin.replace('//', '//me@')] } }),
    'login_unavailable',
  ],
  [
    'the service itself as the issuer',
    (_, { own }) => ({ resource: { authorization_servers: [own] } }),
    'login_unavailable',
  ],
  [
    'the service itself as the location of the metadata',
    (_, { own }) => ({ challenge: `${own}/api/settings` }),
    'login_unavailable',
  ],
  [
    'a location of the metadata at a link-local address',
    () => ({ challenge: `${LINK_LOCAL}/latest` }),
    'login_unavailable',
  ],
  [
    'a redirect of the metadata to another origin',
    (_, { trap }) => ({ redirect: trap }),
    'login_unavailable',
  ],
  ['metadata that never ends', () => ({ endless: true }), 'login_unavailable'],
  [
    'an authorization endpoint with javascript:',
    () => ({ issuer: { authorization_endpoint: 'javascript:alert(1)' } }),
    'login_unavailable',
  ],
  [
    'a token endpoint with file:',
    () => ({ issuer: { token_endpoint: 'file:///etc/passwd' } }),
    'login_unavailable',
  ],
  [
    'a token endpoint at a link-local address',
    () => ({ issuer: { token_endpoint: `${LINK_LOCAL}/token` } }),
    'login_unavailable',
  ],
  [
    'a registration endpoint that is the service itself',
    (_, { own }) => ({ issuer: { registration_endpoint: `${own}/api/http-servers` } }),
    'login_unavailable',
  ],
  ['metadata of another issuer', () => ({ issuer: { issuer: 'https://evil.example' } }), 'issuer_mismatch'],
  ['no S256', () => ({ issuer: { code_challenge_methods_supported: ['plain'] } }), 'pkce_missing'],
]

interface Places {
  readonly trap: string
  readonly own: string
}

test('forged metadata is refused with a sentence, and no other address is contacted', async () => {
  const trap = await openHttp((_, response) => void response.writeHead(200).end('{}'))
  onTestFinished(() => trap.close())
  const service: TestService = await openTestService()
  const user = userOf(service)
  const found: unknown[] = []
  for (const [at, [title, forge]] of FORGED.entries()) {
    const forged = await openForged((origin) => forge(origin, { trap: trap.origin, own: service.address }))
    const id = await user.add(forged.url, { name: `forged ${at}` })
    const { status, body } = await user.ask('POST', `/http-servers/${id}/login`, {})
    found.push([title, body.last_error?.code ?? body.code ?? status])
    expect(body.detail, title).toMatch(/\S+ \S+/)
    expect(body.authorization_url, title).toBeUndefined()
    expect(forged.taken()).toBeLessThan(8 * MEBIBYTE) // 256 KiB are read; the rest is in buffers of the system
    expect(forged.paths.filter((path) => /register|token/.test(path))).toEqual([])
    await user.must(204, 'DELETE', `/http-servers/${id}`)
    await forged.close()
  }
  expect(found).toEqual(FORGED.map(([title, , code]) => [title, code]))
  expect(trap.received).toEqual([])
})

test('a public server cannot name a private issuer, and a proxy is not asked for it', async () => {
  const proxy = await openProxy()
  onTestFinished(() => proxy.close())
  const forged = await openForged(() => ({
    resource: { resource: `http://public.example:${forgedPort}/mcp`, authorization_servers: [PRIVATE] },
    challenge: `http://public.example:${forgedPort}/.well-known/oauth-protected-resource/mcp`,
  }))
  const forgedPort = forged.port
  onTestFinished(() => forged.close())
  const user = userOf(await openTestService({ env: { HTTP_PROXY: proxy.origin, HTTPS_PROXY: proxy.origin } }))
  const id = await user.add(`http://public.example:${forgedPort}/mcp`)
  const { status, body } = await user.ask('POST', `/http-servers/${id}/login`, {})
  expect(status).toBeGreaterThanOrEqual(400)
  expect(body.code).toBe('login_unavailable')
  expect(proxy.requests.filter(({ line }) => line.includes('10.11.12.13'))).toEqual([])
})

test('no configured header goes to the authorization server, and no token anywhere but to its server', async () => {
  const { authorization, server, user, id } = await openLogins({
    more: { headers: { 'X-Api-Key': 'a-key-for-the-tool-server-only' } },
  })
  await user.logIn(id)
  expect((await user.call(id)).status).toBe(200)
  expect(server.received.some((headers) => headers['x-api-key'] !== undefined)).toBe(true)
  const token = server.requests.at(-1)?.token ?? expect.unreachable()
  const atIssuer = JSON.stringify(authorization.received)
  expect(atIssuer).not.toContain('a-key-for-the-tool-server-only')
  expect(atIssuer).not.toContain(token)

  const trap = await openHttp((_, response) => void response.writeHead(200).end('{}'))
  onTestFinished(() => trap.close())
  server.redirect(`${trap.origin}/mcp`)
  expect((await user.call(id)).status).toBeGreaterThanOrEqual(400)
  expect(trap.received).toEqual([])
})
