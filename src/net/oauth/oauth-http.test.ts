import type { lookup } from 'node:dns'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openFaults } from '../../../test/fixtures/http/faults.ts'
import { openHttp, openHttps, pem, type Site } from '../../../test/fixtures/http/sites.ts'
import { AddressGuard } from './address-guard.ts'
import { OAuthFailure } from './oauth-failure.ts'
import { OAuthHttp } from './oauth-http.ts'

type Options = ConstructorParameters<typeof OAuthHttp>[0]
type Done = (error: Error | null, found: unknown) => void

function httpFor(serverUrl: string, own: Partial<Options> = {}): OAuthHttp {
  const options = { network: {}, version: '1', ownOrigins: () => [], ...own }
  const http = new OAuthHttp({ serverUrl: new URL(serverUrl), ...options })
  onTestFinished(() => http.close())
  return http
}

async function site(handler: Parameters<typeof openHttp>[0]): Promise<Site> {
  const opened = await openHttp(handler)
  onTestFinished(() => opened.close())
  return opened
}

const failureOf = (work: Promise<unknown>): Promise<OAuthFailure> =>
  work.then(
    () => expect.unreachable('the request succeeded'),
    (error: unknown) => (error instanceof OAuthFailure ? error : expect.unreachable(String(error))),
  )

/** Names that a test resolves to addresses of its choice. */
const resolving = (names: Record<string, string[]>): Partial<Options> => ({
  network: {
    lookup: ((name: string, _: object, callback: (...args: unknown[]) => void) => {
      const found = names[name]
      if (!found) return callback(Object.assign(new Error(), { code: 'ENOTFOUND' }))
      const family = (address: string) => (address.includes(':') ? 6 : 4)
      callback(
        null,
        found.map((address) => ({ address, family: family(address) })),
      )
    }) as unknown as typeof lookup,
  },
})

const PUBLIC = 'https://mcp.example.com/mcp'
const LOOPBACK = 'http://127.0.0.1:3000/mcp'

describe('discovered URLs', () => {
  test.each([
    [PUBLIC, 'http://auth.example.com/', 'does not use https'],
    [PUBLIC, 'http://127.0.0.1:9/', 'does not use https'],
    [LOOPBACK, 'http://auth.example.com/', 'does not use https'],
    ['http://192.168.1.5/mcp', 'http://192.168.1.5/token', 'does not use https'],
    [PUBLIC, 'javascript:alert(1)', 'scheme javascript: does not use https'],
    [PUBLIC, 'file:///etc/passwd', 'scheme file: does not use https'],
    [PUBLIC, 'https://user@auth.example.com/', 'contains a user name'],
    [PUBLIC, 'https://:pw@auth.example.com/', 'contains a user name'],
    [PUBLIC, 'https://auth.example.com/#x', 'a fragment'],
    [PUBLIC, 'https://169.254.169.254/', 'metadata service'],
    [LOOPBACK, 'https://169.254.169.254/', 'metadata service'],
    [LOOPBACK, 'https://metadata.google.internal/', 'metadata service'],
    [PUBLIC, 'https://127.0.0.1/', 'an address of this computer'],
    [PUBLIC, 'https://localhost/', 'an address of this computer'],
    [PUBLIC, 'https://[::1]/', 'an address of this computer'],
    [PUBLIC, 'https://0.0.0.0/', 'an address of this computer'],
    [PUBLIC, 'https://[::ffff:127.0.0.1]/', 'an address of this computer'],
    [PUBLIC, 'https://10.0.0.1/', 'an address of a private network'],
    [PUBLIC, 'https://[fd00::1]/', 'an address of a private network'],
    [PUBLIC, 'https://[64:ff9b::10.0.0.1]/', 'an address of a private network'],
    ['https://192.168.1.5/mcp', 'https://127.0.0.1/', 'an address of this computer'],
  ])('the metadata of %s cannot lead to %s: %s', async (server, url, reason) => {
    const http = httpFor(server, resolving({ 'mcp.example.com': ['203.0.113.1'] }))
    for (const work of [http.get(new URL(url)), http.post(new URL(url), 'x', {})]) {
      const failure = await failureOf(work)
      expect(failure).toMatchObject({ code: 'unavailable', message: expect.stringContaining(reason) })
    }
    const checked = await failureOf(http.checked(url, 'The token_endpoint'))
    expect(checked.message).toContain('The token_endpoint cannot be used')
  })

  test('a name is judged by the addresses it resolves to, and the server by its own', async () => {
    const { origin, port, received } = await site((_, response) => void response.end('{}'))
    const names = {
      'public.test': ['203.0.113.1'],
      'private.test': ['10.1.2.3'],
      'mixed.test': ['10.1.2.3', '203.0.113.1'],
      'inner.test': ['10.9.9.9'],
      'rebound.test': ['203.0.113.9', '127.0.0.1'],
      'link.test': ['169.254.0.1'],
    }
    const reach = async (server: string, target: string) => {
      const http = httpFor(`https://${server}/mcp`, { ...resolving(names), limits: { eachMs: 200 } })
      return (await failureOf(http.get(new URL(`https://${target}/`)))).message
    }
    expect(await reach('public.test', 'inner.test')).toContain(
      'inner.test is an address of a private network',
    )
    expect(await reach('mixed.test', 'inner.test')).toContain('an address of a private network')
    expect(await reach('unknown.test', 'inner.test')).toContain('an address of a private network')
    expect(await reach('public.test', 'rebound.test')).toContain('an address of this computer')
    expect(await reach('private.test', 'rebound.test')).toContain('an address of this computer')
    expect(await reach('public.test', 'link.test')).toContain('metadata service')
    expect(received).toEqual([])
    const own = httpFor(origin)
    expect((await own.get(new URL(`http://localhost:${port}/`))).status).toBe(200)
    const serverUrl = new URL('https://private.test/mcp')
    const guard = new AddressGuard({ serverUrl, ownOrigins: () => [], network: {}, ...resolving(names) })
    await guard.check(new URL('https://inner.test/'))
    const resolve = promisify(guard.lookup as (name: string, options: object, done: Done) => void)
    expect(await resolve('inner.test', { all: true })).toEqual([{ address: '10.9.9.9', family: 4 }])
  })

  test('this service is never requested, under any of its names', async () => {
    const { origin, port, received } = await site((_, response) => void response.end('{}'))
    const ownOrigins = () => [origin, 'https://toolroom.example.com']
    const http = httpFor(LOOPBACK, { ...resolving({ 'alias.test': ['127.0.0.1'] }), ownOrigins })
    const urls = ['127.0.0.1', 'localhost', '0.0.0.0', '[::1]', '127.1.2.3'].map(
      (host) => `http://${host}:${port}/`,
    )
    for (const url of [...urls, `https://alias.test:${port}/`, 'https://toolroom.example.com/token'])
      expect((await failureOf(http.get(new URL(url)))).message).toContain('is this service itself')
    expect(received).toEqual([])
    // A proxy on this computer may serve the issuer beside this service.
    await http.checked('https://localhost/token', 'The token_endpoint')
  })

  test('a proxy may have a private address, and a literal private target is refused before it is asked', async () => {
    const { port, received } = await site((_, response) => void response.destroy())
    const proxyFor = () => ({
      url: new URL(`http://127.0.0.1:${port}`),
      authorization: undefined,
      setBy: 'HTTPS_PROXY',
    })
    const http = httpFor(PUBLIC, { network: { proxyFor } })
    expect((await failureOf(http.get(new URL('https://10.0.0.1/')))).message).toContain('a private network')
    expect((await failureOf(http.get(new URL('https://auth.example.com/')))).message).toContain('HTTPS_PROXY')
    expect(received).toEqual([])
  })
})

describe('requests', () => {
  test('a redirect is followed within its origin only, and a request carries nothing but its own headers', async () => {
    const other = await site((_, response) => void response.end('{"stolen":true}'))
    const { origin, received } = await site(({ url }, response) => {
      if (url === '/here') response.writeHead(302, { location: '/there' }).end()
      else if (url === '/away') response.writeHead(307, { location: `${other.origin}/?code=1` }).end()
      else if (url === '/loop') response.writeHead(302, { location: '/loop' }).end()
      else response.end('{"here":true}')
    })
    const http = httpFor(origin)
    expect((await http.get(new URL('/here', origin))).json).toEqual({ here: true })
    const { authorization, cookie, ...headers } = received[0] ?? {}
    expect([authorization, cookie]).toEqual([undefined, undefined])
    expect(headers).toMatchObject({ accept: 'application/json', 'user-agent': 'toolroom/1' })
    for (const work of [
      http.get(new URL('/away', origin)),
      http.post(new URL('/away', origin), 'code=1', {}),
    ]) {
      const failure = await failureOf(work)
      expect(failure.message).toContain(
        `redirects to another origin (${other.origin}), which is not followed`,
      )
    }
    expect((await failureOf(http.get(new URL('/loop', origin)))).message).toContain('redirects too often')
    expect(other.received).toEqual([])
  })

  test('an endless or large answer ends at 256 KiB, also when it is compressed', async () => {
    const { gzipSync } = process.getBuiltinModule('node:zlib')
    const { origin } = await site(({ url }, response) => {
      if (url === '/fits') return void response.end(JSON.stringify({ x: 'x'.repeat(256 * 1024 - 8) }))
      if (url === '/packed')
        return void response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(10_000_000)))
      const write = (): void => void (response.destroyed || response.write('x'.repeat(65_536), () => write()))
      write()
    })
    const http = httpFor(origin)
    expect((await http.get(new URL('/fits', origin))).json).toBeDefined()
    for (const path of ['/packed', '/endless'])
      expect((await failureOf(http.get(new URL(path, origin)))).message).toContain('larger than 0.25 MiB')
  })

  test('each request and the whole flow have a time limit', async () => {
    const { urls, close } = await openFaults()
    onTestFinished(() => void close())
    const silent = new URL(urls.half_open)
    const http = httpFor(silent.href, { limits: { eachMs: 100, allMs: 1050 } })
    const messages: string[] = []
    while (messages.length < 20 && !messages.at(-1)?.includes('of this login'))
      messages.push((await failureOf(http.get(silent))).message)
    expect(messages[0]).toContain('did not respond within 0.1 s')
    expect(messages.at(-1)).toBe('The requests of this login took longer than 1.05 s')
    expect(messages.length).toBeLessThan(13)
    expect((await failureOf(http.get(silent))).message).toBe(messages.at(-1))
    const short = httpFor(silent.href)
    expect((await failureOf(short.post(silent, 'x', {}, 50))).message).toContain('within 0.05 s')
  })

  test('a company CA of the network settings applies to issuers too', async () => {
    const secure = await openHttps('good', (_, response) => void response.end('{"ok":true}'))
    onTestFinished(() => secure.close())
    const url = new URL(secure.origin)
    expect((await failureOf(httpFor(LOOPBACK).get(url))).message).toContain('certificate')
    const trusting = httpFor(LOOPBACK, { network: { ca: pem('authority') } })
    expect((await trusting.get(url)).json).toEqual({ ok: true })
  })

  test('a host that cannot answer now is unavailable, with its Retry-After; HTML and 4xx are no metadata', async () => {
    const { origin } = await site(({ url }, response) => {
      const status = Number(url?.slice(1))
      response.writeHead(status, { 'retry-after': '120' }).end(status === 200 ? '<html>' : '{"issuer":"x"}')
    })
    const http = httpFor(origin)
    for (const status of [500, 502, 503, 429, 408])
      expect(await failureOf(http.getMetadata(new URL(`/${status}`, origin)))).toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining(`answered with status ${status}`),
        hint: 'Try again in 120 s',
        retryAfterS: 120,
      })
    for (const status of [200, 400, 401, 403, 404, 410])
      expect(await http.getMetadata(new URL(`/${status}`, origin))).toBeUndefined()
  })

  test('a closed flow ends its pending requests', async () => {
    const { urls, close } = await openFaults()
    onTestFinished(() => void close())
    const http = httpFor(urls.half_open)
    const pending = failureOf(http.get(new URL(urls.half_open)))
    setTimeout(() => http.close(), 20)
    expect((await pending).message).toBe('The login was cancelled')
  })
})
