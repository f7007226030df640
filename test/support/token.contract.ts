import { describe, expect, test } from 'vitest'
import { ask, briefly, verdictOn } from './answers.ts'
import { covers } from './covers.ts'
import { sharedByTests } from './lifetime.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from './test-service.ts'
import { openWithServers, SERVER } from './with-servers.ts'

const MISSING = "Missing authentication token in 'X-SVC-Token' header"
const INVALID = 'Invalid authentication token'
const WRONG = { 'x-svc-token': 'f'.repeat(64) }

/** Public routes, written by hand from the specification. Everything else is protected. */
const OPEN = [
  '/',
  '/docs',
  '/docs/json',
  '/docs/assets/start.js',
  '/docs/assets/docs.css',
  '/docs/guide',
  '/docs/guide/gateway',
  '/docs/errors',
  '/docs/errors/not_found',
  '/api/health',
  '/oauth/callback',
  '/oauth/callback/of-an-issuer',
  '/oauth/done',
]
const OPEN_READS = [
  '/api/servers',
  '/api/servers/github',
  '/api/servers/github/tools',
  '/api/http-servers/docs/tools',
  '/api/http-servers/docs/metrics',
  '/api/ws/metrics',
  '/api/metrics/summary',
  '/api/metrics/timeseries',
  '/api/metrics/servers/github',
  '/api/metrics/tools',
  '/api/metrics/agents',
  '/api/metrics/prometheus',
  '/api/http-servers',
  '/api/http-servers/docs',
  '/api/agents',
  '/api/agents/cursor',
  '/api/agents/cursor/http-servers',
  '/api/packages',
  '/api/packages/github',
  '/api/packages/@acme/notes',
  '/api/logs',
  '/api/logs/download',
  '/api/logs/histogram',
  '/api/notices',
  '/api/calls',
]

/** The expected status of a public read: 409 for the tools of a server that never ran, 426 for the stream without an upgrade, 404 for the guide, which only the build has. */
function openStatus(path: string): number {
  if (path.startsWith('/docs/guide')) return 404
  if (/\/(?:github|docs)\/tools\/?$/.test(path)) return 409
  if (path.startsWith('/api/packages/') && path !== '/api/packages/') return 404
  if (path.startsWith('/oauth/callback')) return 303
  return path.includes('/ws/') ? 426 : 200
}

/** Tests of the token: accepted and refused requests, and the two messages of the specification. */
export function tokenCases(): void {
  describe('the token', () => {
    const withServers = sharedByTests(() => openWithServers())
    test('the token is not required for any read of the specification', async () => {
      covers('public-health', 'public-servers-list', 'public-servers-get', 'public-logs')
      covers('open-auth-http-servers', 'open-auth-logs-download', 'does-rest')
      covers('public-agents', 'open-auth-agents-get', 'open-auth-agents-http-servers')
      covers('public-packages')
      const service = await withServers()
      for (const path of [...OPEN, ...OPEN_READS].flatMap((path) => [path, `${path.replace(/\/$/, '')}/`])) {
        const { statusCode } = await service.inject(path)
        expect.soft(statusCode, path).toBe(path === '/' ? 302 : openStatus(path))
      }
    })

    test('the token is required for everything else, with the two messages of the specification', async () => {
      covers('auth-1-token-in-header', 'auth-2-header-default', 'auth-4-missing-401', 'auth-4-invalid-401')
      covers('protected-servers-add', 'protected-servers-delete', 'protected-logs-clear')
      covers('protected-agents-update-servers', 'protected-agents-remove-servers')
      covers('protected-packages-install', 'protected-packages-uninstall')
      covers('errors-missing-token', 'errors-invalid-token')
      const service = await withServers()
      const open = [...OPEN, ...OPEN_READS]
      const isOther = ({ method, url }: { method: string; url: string }) =>
        ['POST /api/packages/search', 'POST /api/login'].includes(`${method} ${url}`) ||
        /^\/(?:oauth\/start|app-frames)\//.test(url) // the address is the secret
      const closed = routesOf(service).filter(
        (route) => !isOther(route) && (!isRead(route) || !open.includes(route.url)),
      )
      expect(closed.map(({ method, url }) => `${method} ${url}`)).toEqual(
        expect.arrayContaining(['POST /api/servers', 'DELETE /api/servers/github', 'DELETE /api/logs']),
      )
      for (const { method, url } of closed) {
        for (const path of [url, `${url}/`]) {
          const without = await service.inject({ method, url: path })
          expect.soft(without.statusCode, `${method} ${path}`).toBe(401)
          if ((method as string) === 'HEAD') continue // no body, no message
          expect.soft(briefly(without.statusCode, without.body, 2)).toEqual([401, 'missing_token'])
          expect.soft(without.json().detail, `${method} ${path}`).toBe(MISSING)
          const wrong = await service.inject({
            method,
            url: path,
            headers: WRONG,
            remoteAddress: `10.0.0.${url.length}`,
          })
          expect.soft(briefly(wrong.statusCode, wrong.body, 2)).toEqual([401, 'invalid_token'])
          expect.soft(wrong.json().detail, `${method} ${path}`).toBe(INVALID)
          expect.soft(wrong.headers['www-authenticate']).toBe('Token realm="toolroom"')
        }
      }
      expect((await service.inject('/api/servers')).json().total).toBe(1)
    })

    test('a request with the right token proceeds', async () => {
      covers('auth-3-token', 'auth-3-header-value', 'auth-4-valid-proceeds')
      const service = await openTestService({
        env: { AUTH_TOKEN: 'a-token.of/my+own=1234567890-1234567890-1234567890' },
      })
      const headers = { 'X-Svc-TOKEN': 'a-token.of/my+own=1234567890-1234567890-1234567890' }
      const added = await service.inject({ method: 'POST', url: '/api/servers/', headers, payload: SERVER })
      expect([added.statusCode, added.headers.location]).toEqual([201, '/api/servers/github'])
      expect(
        await verdictOn(service, { method: 'DELETE', url: '/api/servers/github', headers: AUTHORISED }),
      ).toEqual([401, 'invalid_token'])
    })

    test('white space around the token is ignored, because HTTP does not count it as part of a value', async () => {
      const service = await withServers()
      expect((await ask(service, 'DELETE', '/api/logs', { 'X-SVC-Token': ` \t${TOKEN} \t` })).status).toBe(
        200,
      )
    })

    test.each<[label: string, path: string, headers: Record<string, string>, code: string]>([
      ['a wrong token', '', { 'X-SVC-Token': 'x' }, 'invalid_token'],
      ['an empty token', '', { 'X-SVC-Token': '' }, 'invalid_token'],
      ['a token sent twice', '', { 'X-SVC-Token': TOKEN, 'x-svc-token': TOKEN }, 'invalid_token'],
      ['a right and a wrong token', '', { 'X-SVC-Token': 'x', 'x-svc-token': TOKEN }, 'invalid_token'],
      ['a token in upper case', '', { 'X-SVC-Token': TOKEN.toUpperCase() }, 'invalid_token'],
      ['a token with a scheme before it', '', { 'X-SVC-Token': `Bearer ${TOKEN}` }, 'invalid_token'],
      ['a truncated token', '', { 'X-SVC-Token': TOKEN.slice(1) }, 'invalid_token'],
      ['a token in the query', `?X-SVC-Token=${TOKEN}`, {}, 'missing_token'],
      ['a token in another header', '', { Authorization: `Bearer ${TOKEN}` }, 'missing_token'],
      ['a token in a cookie', '', { Cookie: `X-SVC-Token=${TOKEN}` }, 'missing_token'],
    ])('%s is not accepted', async (_, query, headers, code) => {
      const service = await withServers()
      const { status, body } = await ask(service, 'DELETE', `/api/servers/github${query}`, headers)
      expect(briefly(status, body, 2)).toEqual([401, code])
      expect((await service.inject('/api/servers/github')).statusCode).toBe(200)
    })

    test('a token of a megabyte exceeds the limit of the headers', async () => {
      const service = await withServers()
      const { status, body } = await ask(service, 'DELETE', '/api/logs', {
        'X-SVC-Token': 'x'.repeat(1_000_000),
      })
      expect(briefly(status, body, 2)).toEqual([431, 'headers_too_large'])
    })

    test('the eleventh wrong token is answered with a delay and audited, and the right token without a delay', async () => {
      const service = await openWithServers()
      const clear = async (headers: Record<string, string>) => {
        const { statusCode } = await service.inject({ method: 'DELETE', url: '/api/logs', headers })
        return { statusCode, at: performance.now() }
      }
      const startedAt = performance.now()
      for (let count = 1; count <= 10; count++) expect((await clear(WRONG)).statusCode).toBe(401)
      const tenthAt = performance.now()
      expect(tenthAt - startedAt).toBeLessThan(2000) // ten delays would take 2.5 s
      const [late, right, missing] = await Promise.all([clear(WRONG), clear(AUTHORISED), clear({})])
      expect([late.statusCode, right.statusCode, missing.statusCode]).toEqual([401, 200, 401])
      expect(late.at - tenthAt).toBeGreaterThan(240)
      expect(Math.max(right.at, missing.at)).toBeLessThan(late.at)
      const { items } = (await service.inject('/api/logs?source=audit')).json()
      const guessing = items.filter(
        ({ data }: { data: { action: string } }) => data.action === 'token_guessing',
      )
      expect(guessing).toMatchObject([{ data: { subject: '127.0.0.1' } }])
    })

    test('an unknown id on a protected path gets 401 without the token and 404 with it', async () => {
      const service = await withServers()
      for (const [method, url] of [
        ['DELETE', '/api/servers/missing'],
        ['PATCH', '/api/servers/missing'],
        ['PUT', '/api/http-servers/missing'],
        ['DELETE', '/api/http-servers/missing'],
      ] as const) {
        const payload = method === 'DELETE' ? undefined : { name: 'b' }
        const sent = { method, url, ...(payload && { payload }) }
        expect(await verdictOn(service, sent)).toEqual([401, 'missing_token'])
        expect(await verdictOn(service, { ...sent, headers: AUTHORISED })).toEqual([404, 'not_found'])
      }
    })

    test('AUTH_TOKEN_HEADER_NAME renames the header, also in the message and in the documentation', async () => {
      covers('auth-2-header-name', 'auth-5-renamed-header')
      const service = await openTestService({ env: { AUTH_TOKEN_HEADER_NAME: 'X-My-Token' } })
      const without = await service.inject({ method: 'DELETE', url: '/api/logs', headers: AUTHORISED })
      expect(without.json().detail).toBe("Missing authentication token in 'X-My-Token' header")
      const headers = { 'x-my-token': TOKEN }
      expect((await service.inject({ method: 'DELETE', url: '/api/logs', headers })).statusCode).toBe(200)
      const { components } = (await service.inject('/docs/json')).json()
      expect(components.securitySchemes.token).toMatchObject({
        type: 'apiKey',
        in: 'header',
        name: 'X-My-Token',
      })
    })

    test('PROTECT_READS requires the token for reads, except for health, the documentation and the pages of a login', async () => {
      const service = await openWithServers({ env: { PROTECT_READS: 'true' } })
      for (const path of OPEN)
        expect.soft((await service.inject(path)).statusCode, path).toBe(path === '/' ? 302 : openStatus(path))
      for (const url of OPEN_READS) {
        expect.soft(await verdictOn(service, { url }), url).toEqual([401, 'missing_token'])
        expect.soft(await verdictOn(service, { method: 'HEAD', url }), url).toEqual([401, undefined])
        const { statusCode } = await service.inject({ url, headers: AUTHORISED })
        expect.soft(statusCode, url).toBe(openStatus(url))
      }
      const { paths } = (await service.inject('/docs/json')).json()
      expect(paths['/api/servers'].get.security).toEqual([{ token: [] }])
      expect(paths['/api/health'].get.security).toEqual([])
    })
  })
}

/** Every route, with an existing server for its parameters. */
function routesOf(service: TestService): { method: 'GET'; url: string }[] {
  return service.app.methods.list().map(({ method, url }) => {
    const id = url.includes('http-servers') ? 'docs' : 'github'
    const path = url
      .replace(':id', id)
      .replace(':agent_type', 'cursor')
      .replace(':scope', '@acme')
      .replace(':name', 'notes')
      .replace(':file', 'start.js')
      .replace(':code', 'not_found')
      .replace(':page', 'gateway')
      .replace(':issuer', 'of-an-issuer')
    return { method: method as 'GET', url: path }
  })
}

const isRead = ({ method }: { method: string }): boolean => method === 'GET' || method === 'HEAD'
