import type { lookup } from 'node:dns'
import { setTimeout as sleep } from 'node:timers/promises'
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openFaults } from '../../test/fixtures/http/faults.ts'
import { openHttp, openHttps, pem, type Site } from '../../test/fixtures/http/sites.ts'
import { stopwatch } from '../../test/support/measuring.ts'
import { HttpClient, type HttpRequest } from './http-client.ts'
import type { RemoteFailure } from './http-failure.ts'

const HEADERS = { Authorization: 'Bearer a-secret', 'X-Api-Key': 'another-secret', Accept: 'mine' }
const MAX_BYTES = 10 * 1024 * 1024
type Options = Partial<ConstructorParameters<typeof HttpClient>[0]>

function clientOf(url: string, own: Options = {}) {
  const target = new URL(url)
  const client = new HttpClient({ url: target, headers: HEADERS, userAgent: 'test', ...own })
  onTestFinished(() => client.close())
  const send = (request: Partial<HttpRequest> = {}) =>
    client.request({ method: 'POST', url: target, body: '{"id":1}', timeoutMs: 60_000, ...request })
  const failure = (request: Partial<HttpRequest> = {}): Promise<RemoteFailure> =>
    send(request)
      .then((reply) => reply.read(MAX_BYTES))
      .then(() => expect.unreachable('the request succeeded'))
      .catch((error: RemoteFailure) => error)
  return { client, send, failure }
}

async function site(handler: Parameters<typeof openHttp>[0]): Promise<Site> {
  const opened = await openHttp(handler)
  onTestFinished(() => opened.close())
  return opened
}

async function faults() {
  const opened = await openFaults()
  onTestFinished(() => void opened.close())
  return opened
}

describe('requests', () => {
  test('a request carries the configured headers, its own headers win, and the connection is reused', async () => {
    const { origin, received, open } = await site((_, response) => void response.end('ok'))
    const { send } = clientOf(origin)
    for (let n = 0; n < 3; n += 1) {
      const reply = await send({ headers: { Accept: 'application/json' } })
      expect([reply.status, (await reply.read(MAX_BYTES)).toString()]).toEqual([200, 'ok'])
    }
    expect(received[2]).toMatchObject({
      authorization: 'Bearer a-secret',
      'x-api-key': 'another-secret',
      accept: 'application/json',
      'content-length': '8',
      'user-agent': 'test',
      'accept-encoding': 'gzip, deflate, br',
    })
    expect(open()).toBe(1)
  })

  test.each([
    ['gzip', gzipSync],
    ['x-gzip', gzipSync],
    ['deflate', deflateSync],
    ['deflate', deflateRawSync],
    ['br', brotliCompressSync],
    ['identity', (text: string) => Buffer.from(text)],
  ] as const)('a response with Content-Encoding %s is decompressed', async (encoding, pack) => {
    const text = 'grüße 🎈 '.repeat(10_000)
    const { origin } = await site((_, response) => {
      response.writeHead(200, { 'content-encoding': encoding })
      const bytes = pack(text)
      for (let at = 0; at < bytes.length; at += 100) response.write(bytes.subarray(at, at + 100))
      response.end()
    })
    const reply = await clientOf(origin).send()
    expect((await reply.read(MAX_BYTES)).toString()).toBe(text)
  })

  test('a response that is compressed twice, or cut off, is a protocol error', async () => {
    const { origin } = await site(({ url }, response) => {
      const packed = gzipSync('x'.repeat(1000))
      if (url === '/cut') response.writeHead(200, { 'content-encoding': 'gzip' }).end(packed.subarray(0, 20))
      else response.writeHead(200, { 'content-encoding': 'gzip, gzip' }).end(gzipSync(packed))
    })
    expect(await clientOf(`${origin}/twice`).failure()).toMatchObject({ code: 'protocol_error' })
    expect(await clientOf(`${origin}/cut`).failure()).toMatchObject({ code: 'protocol_error' })
  })

  test('an aborted request rejects with the reason of the signal, before and during the response', async () => {
    const { urls, open } = await faults()
    const reason = new Error('enough')
    const { failure } = clientOf(urls.half_open)
    expect(await failure({ signal: AbortSignal.abort(reason) })).toBe(reason)
    const later = new AbortController()
    const pending = failure({ signal: later.signal })
    await sleep(50)
    later.abort(reason)
    expect(await pending).toBe(reason)
    const during = new AbortController()
    const dripping = clientOf(urls.drip).failure({ signal: during.signal })
    await sleep(50)
    during.abort(reason)
    expect(await dripping).toBe(reason)
    await expect.poll(open).toEqual([])
  })

  test('a request has a deadline for its first byte and one for its last', async () => {
    const { urls } = await faults()
    const spent = stopwatch()
    const first = await clientOf(urls.half_open).failure({ firstByteMs: 100 })
    expect(first).toMatchObject({ code: 'timeout', message: expect.stringContaining('within 0.1 s') })
    const last = await clientOf(urls.drip).failure({ timeoutMs: 500 })
    expect(last).toMatchObject({ code: 'timeout', message: expect.stringContaining('finish its response') })
    expect(spent()).toBeLessThan(5000) // half of the default for the first byte
  })

  test('a request over a connection that was just closed is repeated only if it is repeatable', async () => {
    const { origin, received } = await site((request, response) => {
      response.end('ok')
      if (received.length === 1) setImmediate(() => request.socket.resetAndDestroy())
    })
    for (const repeatable of [true, false]) {
      received.length = 0
      const { send } = clientOf(origin)
      await (await send()).read(MAX_BYTES)
      const again = await send({ repeatable }).then(
        ({ status }) => status,
        ({ code }: RemoteFailure) => code,
      )
      expect([200, ...(repeatable ? [] : ['connection_reset'])]).toContain(again)
    }
  })

  test('onConnected and onSent tell whether a failed request was sent', async () => {
    const steps: string[] = []
    const hooks = { onConnected: () => steps.push('connected'), onSent: () => steps.push('sent') }
    const { origin, close } = await site((_, response) => void response.destroy())
    expect(await clientOf(origin).failure(hooks)).toMatchObject({ code: 'connection_reset' })
    expect(steps.splice(0)).toEqual(['connected', 'sent'])
    await close()
    expect(await clientOf(origin).failure(hooks)).toMatchObject({ code: 'connection_refused' })
    const secure = await openHttps('good', (_, response) => void response.end())
    onTestFinished(() => secure.close())
    expect(await clientOf(secure.origin).failure(hooks)).toMatchObject({ code: 'tls_failed' })
    expect(steps).toEqual([])
  })

  test('a header that cannot be sent fails without being quoted', async () => {
    const { origin } = await site((_, response) => void response.end())
    const error = await clientOf(origin, { headers: { 'x-key': 'secret\nvalue' } }).failure()
    expect(error).toMatchObject({ code: 'protocol_error' })
    expect(error.message).not.toContain('secret')
  })

  test('close rejects pending and later requests with its reason, and leaves no connection open', async () => {
    const { urls, open } = await faults()
    const { client, failure } = clientOf(urls.half_open)
    const waiting = Array.from({ length: 300 }, () => failure({ timeoutMs: 60_000, firstByteMs: 60_000 }))
    await sleep(100)
    const reason = new Error('enough')
    client.close(reason)
    for (const error of await Promise.all(waiting)) expect(error).toBe(reason)
    expect(await failure()).toBe(reason)
    await expect.poll(open).toEqual([])
  })
})

describe('redirects', () => {
  test.each([301, 302, 307, 308] as const)(
    'a redirect with status %i inside the origin is followed, and a POST stays a POST',
    async (status) => {
      const { urls, web } = await faults()
      const reply = await clientOf(urls[`redirect_${status}`]).send({
        body: '{"id":1,"method":"tools/list"}',
      })
      expect([reply.status, reply.url.pathname]).toEqual([200, '/mcp'])
      expect((await reply.read(MAX_BYTES)).toString()).toContain('"echo"')
      expect(web.received.map((headers) => headers['x-api-key'])).toEqual([
        'another-secret',
        'another-secret',
      ])
    },
  )

  test('a redirect to another origin is refused, and nothing is sent there', async () => {
    const { urls, elsewhere } = await faults()
    const error = await clientOf(urls.redirect_elsewhere).failure()
    expect(error).toMatchObject({ code: 'redirect_refused', status: 307 })
    expect(error.message).toContain(elsewhere.origin)
    expect(error.message).not.toContain('a-secret-of-the-url')
    expect(elsewhere.received).toEqual([])
    const { origin } = await site(
      (_, response) =>
        void response.writeHead(307, { location: `http://user:pw@${elsewhere.origin.slice(7)}/` }).end(),
    )
    expect(await clientOf(origin).failure()).toMatchObject({ code: 'redirect_refused' })
    expect(elsewhere.received).toEqual([])
  })

  test.each([
    ['redirect_loop', 'too_many_redirects'],
    ['redirect_303', 'redirect_refused'],
    ['redirect_file', 'redirect_refused'],
    ['redirect_nowhere', 'protocol_error'],
  ] as const)('the fault %s fails with %s', async (kind, code) => {
    const { urls } = await faults()
    expect(await clientOf(urls[kind]).failure()).toMatchObject({ code })
  })
})

test('with crossOrigin, redirects to other origins are followed without the configured headers', async () => {
  const target = await site((_, response) => void response.end('there'))
  const { origin, received } = await site((_, response) => {
    response.writeHead(302, { location: `${target.origin}/x` }).end()
  })
  const authorizationFor = ({ pathname }: URL) => `Bearer for ${pathname}`
  const { send } = clientOf(`${origin}/a`, { crossOrigin: true, authorizationFor })
  const reply = await send({ method: 'GET', body: '' })
  expect([reply.url.origin, (await reply.read(MAX_BYTES)).toString()]).toEqual([target.origin, 'there'])
  expect(received[0]).toMatchObject({ authorization: 'Bearer for /a', 'x-api-key': 'another-secret' })
  expect(target.received[0]).not.toHaveProperty('authorization')
  expect(target.received[0]).not.toHaveProperty('x-api-key')
})

test('with crossOrigin, a redirect from https to http is refused', async () => {
  const target = await site((_, response) => void response.end('there'))
  const secure = await openHttps('good', (_, response) => {
    response.writeHead(302, { location: target.origin }).end()
  })
  onTestFinished(() => secure.close())
  const { failure } = clientOf(secure.origin, { crossOrigin: true, network: { ca: [pem('authority')] } })
  expect(await failure()).toMatchObject({ code: 'redirect_refused', status: 302 })
  expect(target.received).toEqual([])
})

describe('addresses', () => {
  const leadsTo = (...addresses: string[]) =>
    ((_: string, __: object, callback: (error: null, found: object[]) => void) =>
      callback(
        null,
        addresses.map((address) => ({ address, family: 4 })),
      )) as unknown as typeof lookup

  test.each([
    ['http://169.254.169.254/latest', leadsTo()],
    ['http://[::ffff:169.254.169.254]/', leadsTo()],
    ['http://metadata.google.internal/', leadsTo('127.0.0.1')],
    ['http://harmless.test/', leadsTo('169.254.169.254')],
    ['http://harmless.test/', leadsTo('127.0.0.1', '100.100.100.200')],
    ['http://instance-data./', leadsTo('127.0.0.1')],
    ['http://harmless.test/', leadsTo('168.63.129.16')],
    ['http://harmless.test/', leadsTo('127.0.0.1', '2002:a9fe:a9fe::1')],
    ['http://harmless.test/', leadsTo('64:ff9b::a9fe:a9fe')],
    ['http://harmless.test/', leadsTo('64:ff9b:1::a9fe:a9fe')],
    ['http://harmless.test/', leadsTo('fe80::1%eth0')],
  ])('%s is blocked (row %#)', async (url, lookup) => {
    const error = await clientOf(url, { network: { lookup } }).failure()
    expect(error).toMatchObject({
      code: 'blocked_address',
      message: expect.stringContaining(new URL(url).hostname),
    })
  })

  test('with linkLocal, a name that also has a link-local address is reached, as mDNS names do', async () => {
    const { port } = await site((_, response) => void response.end('ok'))
    const network = { lookup: leadsTo('127.0.0.1', '169.254.1.1'), linkLocal: true }
    const { send } = clientOf(`http://studio.test:${port}/`, { network })
    expect((await (await send()).read(MAX_BYTES)).toString()).toBe('ok')
  })

  test('a name that is not found, and a URL that is not http, fail with a clear code', async () => {
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND' })
    const lookup = ((_: string, __: object, callback: (error: Error) => void) =>
      callback(unknown)) as unknown as typeof import('node:dns').lookup
    const error = await clientOf('http://nowhere.test:81/', { network: { lookup } }).failure()
    expect(error).toMatchObject({ code: 'dns_failed', message: 'The name nowhere.test was not found' })
    expect(await clientOf('file:///etc/passwd').failure()).toMatchObject({ code: 'redirect_refused' })
  })

  test('onReached reports each step to an https server once per connection', async () => {
    const secure = await openHttps('good', (_, response) => void response.end('ok'))
    onTestFinished(() => secure.close())
    const reached: string[] = []
    const { send } = clientOf(`https://localhost:${secure.port}/`, {
      network: { ca: pem('authority'), lookup: leadsTo('127.0.0.1') },
      onReached: (what) => void reached.push(what),
    })
    expect((await (await send()).read(MAX_BYTES)).toString()).toBe('ok')
    expect(reached).toEqual(['dns', 'tcp', 'tls', 'http'])
    await (await send()).read(MAX_BYTES)
    expect(reached.slice(4), 'over the reused connection').toEqual(['http'])
  })
})

describe('size limits', () => {
  test.each(['bomb', 'endless_json'] as const)(
    'the response %s is cut off at 10 MiB with little memory used',
    async (kind) => {
      const { urls, open } = await faults()
      const { failure } = clientOf(urls[kind])
      const before = process.memoryUsage.rss()
      const error = await failure({ timeoutMs: 100_000 })
      const growth = process.memoryUsage.rss() - before
      expect(error).toMatchObject({ code: 'response_too_large', message: expect.stringContaining('10 MiB') })
      expect(growth).toBeLessThan(30 * 1024 * 1024)
      await expect.poll(open).toEqual([])
    },
  )
})
