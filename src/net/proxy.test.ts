import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { createServer } from 'node:tls'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openProxy, type TestProxy } from '../../test/fixtures/http/proxy.ts'
import {
  closedPort,
  listening,
  openHttp,
  openHttps,
  openTcp,
  pem,
  type Site,
} from '../../test/fixtures/http/sites.ts'
import { HttpClient, type Reached } from './http-client.ts'
import type { RemoteFailure } from './http-failure.ts'
import { proxyFromEnvironment } from './proxy.ts'

type Env = Record<string, string>
const basic = (login: string) => `Basic ${Buffer.from(login).toString('base64')}`
const ca = pem('authority')

async function opened<T extends Site>(opening: Promise<T>): Promise<T> {
  const site = await opening
  onTestFinished(() => site.close())
  return site
}

/** The certificate of `elsewhere.test`, a name that only the proxy can resolve. */
const secureSite = () => opened(openHttps('other-host', (_, response) => void response.end('ok')))
const plainSite = () => opened(openHttp((_, response) => void response.end('ok')))

function clientOf(url: string, env: Env) {
  const reached: Reached[] = []
  const client = new HttpClient({
    url: new URL(url),
    headers: { 'x-key': 'a-secret' },
    userAgent: 'test',
    network: { ca, proxyFor: proxyFromEnvironment(env) },
    onReached: (what) => void reached.push(what),
  })
  onTestFinished(() => client.close())
  const get = async () => {
    const reply = await client.request({ method: 'GET', url: new URL(url), timeoutMs: 60_000 })
    return (await reply.read(1000)).toString()
  }
  const failure = (): Promise<RemoteFailure> =>
    get().then(
      (body) => expect.unreachable(`the request succeeded: ${body}`),
      (error) => error,
    )
  return { client, get, failure, reached }
}

describe('requests through a proxy', () => {
  test('a request to an https server uses a CONNECT tunnel, and its connection is reused', async () => {
    const [site, proxy] = [await secureSite(), await opened(openProxy())]
    const { get, reached } = clientOf(`https://elsewhere.test:${site.port}/mcp`, {
      HTTPS_PROXY: proxy.origin.replace('//', '//me:p%40ss@'),
    })
    expect([await get(), await get()]).toEqual(['ok', 'ok'])
    expect(proxy.requests.map(({ line }) => line)).toEqual([`CONNECT elsewhere.test:${site.port}`])
    expect(proxy.requests[0]?.headers['proxy-authorization']).toBe(basic('me:p@ss'))
    expect(JSON.stringify(proxy.requests)).not.toContain('a-secret')
    expect(reached).toEqual(['tcp', 'tls', 'http', 'http'])
    expect(site.received).toHaveLength(2)
    for (const headers of site.received) {
      expect(headers).toMatchObject({ host: `elsewhere.test:${site.port}`, 'x-key': 'a-secret' })
      expect(headers['proxy-authorization']).toBeUndefined()
    }
  })

  test('a request to a plain http server sends the full URL to the proxy', async () => {
    const [site, proxy] = [await plainSite(), await opened(openProxy())]
    const url = `http://plain.test:${site.port}/mcp?a=1`
    const { get, reached } = clientOf(url, { http_proxy: proxy.origin.replace('//', '//me:pass@') })
    expect([await get(), await get()]).toEqual(['ok', 'ok'])
    expect(proxy.requests.map(({ line }) => line)).toEqual([`GET ${url}`, `GET ${url}`])
    expect(proxy.requests[0]?.headers).toMatchObject({
      host: `plain.test:${site.port}`,
      'proxy-authorization': basic('me:pass'),
    })
    expect(site.received[0]?.['x-key']).toBe('a-secret')
    expect(reached).toEqual(['tcp', 'http', 'http'])
    expect(proxy.open(), 'the connection to the proxy is reused').toBe(1)
  })

  test('the certificate of an https server is checked through the proxy', async () => {
    const site = await opened(openHttps('good', (_, response) => void response.end('ok')))
    const proxy = await opened(openProxy())
    const { failure } = clientOf(`https://elsewhere.test:${site.port}/`, { HTTPS_PROXY: proxy.origin })
    expect(await failure()).toMatchObject({
      code: 'tls_failed',
      message: `The certificate for elsewhere.test:${site.port} was issued for another host name`,
    })
  })

  test('https and http requests can go through a proxy that itself uses TLS', async () => {
    const [site, proxy] = [await secureSite(), await opened(openProxy())]
    const front = await opened(openTlsFront(proxy))
    const env = {
      HTTPS_PROXY: `https://localhost:${front.port}`,
      HTTP_PROXY: `https://localhost:${front.port}`,
    }
    expect(await clientOf(`https://elsewhere.test:${site.port}/`, env).get()).toBe('ok')
    const plain = await plainSite()
    expect(await clientOf(`http://plain.test:${plain.port}/`, env).get()).toBe('ok')
  })

  test('a request to a blocked literal host is refused before the proxy is contacted', async () => {
    const proxy = await opened(openProxy())
    const env = { HTTP_PROXY: proxy.origin, HTTPS_PROXY: proxy.origin }
    for (const url of ['http://169.254.169.254/', 'https://metadata.google.internal/'])
      expect(await clientOf(url, env).failure()).toMatchObject({ code: 'blocked_address' })
    expect(proxy.requests).toEqual([])
  })
})

describe('proxy failures', () => {
  const urls = ['https://elsewhere.test/', 'http://plain.test/']
  const envOf = (url: string): Env => ({ HTTPS_PROXY: url, HTTP_PROXY: url })
  const variable = (url: string) => (url.startsWith('https') ? 'HTTPS_PROXY' : 'HTTP_PROXY')

  test.each(urls)(
    'a proxy that requires a login for %s is named in the failure, with the variable that set it',
    async (url) => {
      const proxy = await opened(openProxy())
      proxy.refuse(407)
      const { host } = new URL(proxy.origin)
      expect(await clientOf(url, envOf(proxy.origin)).failure()).toMatchObject({
        code: 'proxy_failed',
        status: 407,
        message: `The proxy ${host} (set by ${variable(url)}) requires a login (status 407)`,
        hint: `Add it to ${variable(url)}: http://user:password@host:port`,
      })
      const wrong = await clientOf(url, envOf(proxy.origin.replace('//', '//me:pa55word@'))).failure()
      expect(wrong.message).toBe(`The proxy ${host} (set by ${variable(url)}) rejects the login (status 407)`)
      expect(`${wrong.message} ${wrong.hint} ${wrong.stack}`).not.toMatch(/pa55word|me:/)
    },
  )

  test.each(urls)('a proxy that answers 502 for %s is named in the failure', async (url) => {
    const proxy = await opened(openProxy())
    proxy.refuse(502)
    const { host } = new URL(proxy.origin)
    const target = new URL(url).host
    expect(await clientOf(url, envOf(proxy.origin)).failure()).toMatchObject({
      code: 'proxy_failed',
      message: `The proxy ${host} (set by ${variable(url)}) did not forward the request to ${target} (status 502)`,
      hint: `Check that the proxy can reach ${target}, or list ${target} in NO_PROXY to connect without the proxy`,
    })
  })

  test.each(urls)('a proxy for %s that cannot be reached is named in the failure', async (url) => {
    const port = await closedPort()
    const failure = await clientOf(url, envOf(`http://me:pa55word@127.0.0.1:${port}`)).failure()
    expect(failure).toMatchObject({
      code: 'proxy_failed',
      message: `The proxy 127.0.0.1:${port} (set by ${variable(url)}) cannot be reached: Nothing is listening at 127.0.0.1, port ${port}`,
    })
    expect(`${failure.message} ${failure.hint}`).not.toContain('pa55word')
  })

  test('a proxy that closes the connection during CONNECT is a proxy failure', async () => {
    const proxy = await opened(openTcp((socket) => socket.once('data', () => socket.end())))
    expect(await clientOf('https://elsewhere.test/', { HTTPS_PROXY: proxy.origin }).failure()).toMatchObject({
      code: 'proxy_failed',
    })
  })

  test('a proxy that never responds to CONNECT is named when the request times out', async () => {
    const proxy = await opened(openTcp((socket) => socket.resume()))
    const { client } = clientOf('https://elsewhere.test/', { HTTPS_PROXY: proxy.origin })
    const url = new URL('https://elsewhere.test/')
    await expect(client.request({ method: 'GET', url, timeoutMs: 100 })).rejects.toMatchObject({
      code: 'proxy_failed',
      message: expect.stringContaining(`The proxy 127.0.0.1:${proxy.port} (set by HTTPS_PROXY)`),
    })
  })

  test('a proxy that never responds keeps no connection open after the client is closed', async () => {
    const proxy = await opened(openTcp((socket) => socket.resume()))
    const { client, failure } = clientOf('https://elsewhere.test/', { HTTPS_PROXY: proxy.origin })
    const waiting = [failure(), failure()]
    await expect.poll(proxy.open).toBe(2)
    const reason = new Error('enough')
    client.close(reason)
    expect(await Promise.all(waiting)).toEqual([reason, reason])
    await expect.poll(proxy.open).toBe(0)
  })

  test.each(['socks5://127.0.0.1:1080', 'http://', 'http://a%zz@host'])(
    'the unusable proxy setting %s is an error, not a direct connection',
    async (value) => {
      const failure = await clientOf('https://elsewhere.test/', { HTTPS_PROXY: value }).failure()
      expect(failure).toMatchObject({
        code: 'proxy_failed',
        message: 'HTTPS_PROXY is not the URL of an HTTP proxy',
      })
    },
  )
})

describe('loopback', () => {
  test('loopback addresses are never reached through a proxy, whatever NO_PROXY says', async () => {
    const [site, proxy] = [await plainSite(), await opened(openProxy())]
    const env = { HTTP_PROXY: proxy.origin, NO_PROXY: 'other.test' }
    for (const host of ['localhost', '127.0.0.1', '127.1'])
      expect(await clientOf(`http://${host}:${site.port}/`, env).get()).toBe('ok')
    await sleep(10)
    expect(proxy.requests).toEqual([])
  })
})

describe('proxy selection', () => {
  const proxyFor = (url: string, env: Env) => {
    const proxy = proxyFromEnvironment(env)(new URL(url))
    return proxy && `${proxy.setBy} ${proxy.url.href}`
  }
  const BOTH = { HTTP_PROXY: 'http://plain:1', HTTPS_PROXY: 'http://secure:2' }

  test.each([
    ['https://a.test/', BOTH, 'HTTPS_PROXY http://secure:2/'],
    ['http://a.test/', BOTH, 'HTTP_PROXY http://plain:1/'],
    ['https://a.test/', { HTTP_PROXY: 'http://plain:1' }, 'HTTP_PROXY http://plain:1/'],
    ['http://a.test/', { HTTPS_PROXY: 'http://secure:2' }, undefined],
    ['https://a.test/', { ...BOTH, https_proxy: 'http://lower:3' }, 'https_proxy http://lower:3/'],
    ['https://a.test/', { ...BOTH, https_proxy: '' }, 'HTTPS_PROXY http://secure:2/'],
    ['https://a.test/', { HTTPS_PROXY: 'secure:2' }, 'HTTPS_PROXY http://secure:2/'],
    ['https://a.test/', {}, undefined],
  ])('the proxy for %s with the environment %j is %s', (url, env, expected) => {
    expect(proxyFor(url, env as Env)).toBe(expected)
  })

  test.each([
    'http://localhost/',
    'http://LOCALHOST.:3000/',
    'http://app.localhost/',
    'http://127.8.9.1/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://0.0.0.0:3000/',
  ])('%s is this computer, so it has no proxy', (url) => {
    expect(proxyFor(url, BOTH)).toBeUndefined()
  })

  test.each([
    ['a.test', 'http://a.test/', true],
    ['a.test', 'http://b.a.test/', true],
    ['.a.test', 'http://b.a.test/', true],
    ['*.a.test', 'http://b.a.test/', true],
    ['A.TEST.', 'http://a.test/', true],
    ['a.test', 'http://ba.test/', false],
    ['x.test, a.test', 'http://a.test/', true],
    ['x.test a.test', 'http://a.test/', true],
    ['*', 'http://a.test/', true],
    ['a.test:81', 'http://a.test:81/', true],
    ['a.test:81', 'http://a.test/', false],
    ['a.test:80', 'http://a.test/', true],
    ['10.1.2.3', 'http://10.1.2.3/', true],
    ['10.0.0.0/8', 'http://10.1.2.3/', true],
    ['10.0.0.0/8', 'http://11.1.2.3/', false],
    ['10.0.0.0/99', 'http://10.1.2.3/', false],
    ['fd00::/8', 'http://[fd12::1]/', true],
    ['[fd12::1]', 'http://[fd12:0::1]/', true],
    ['', 'http://a.test/', false],
    [',', 'http://a.test/', false],
  ])('NO_PROXY=%j covers %s: %s', (NO_PROXY, url, isDirect) => {
    expect(proxyFor(url, { ...BOTH, NO_PROXY }) === undefined).toBe(isDirect)
  })
})

/** TLS in front of a proxy. */
function openTlsFront(proxy: TestProxy): Promise<Site> {
  const server = createServer({ key: pem('server-key'), cert: pem('good') }, (socket) => {
    const onward = connect(proxy.port, '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    socket.on('error', () => onward.destroy())
    onward.on('error', () => socket.destroy())
  })
  return listening(server, 'https', [])
}

test.each(['me:pa%20ss@', 'me@', ':pass@'])(
  'the login %s of a proxy is in its header only, and not in the URL that requests are sent to',
  (login) => {
    const proxy = proxyFromEnvironment({ HTTP_PROXY: `http://${login}proxy.test:3128` })(
      new URL('http://a.test'),
    )
    expect(proxy?.url.href).toBe('http://proxy.test:3128/')
    const [user = '', password = ''] = decodeURIComponent(login.slice(0, -1)).split(':')
    expect(proxy?.authorization).toBe(basic(`${user}:${password}`))
  },
)
