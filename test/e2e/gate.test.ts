import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { describe, expect, onTestFinished, test } from 'vitest'
import { covers } from '../support/covers.ts'
import { figure } from '../support/figure.ts'
import { FULL } from '../support/full-or-short.ts'
import {
  everyRequest,
  type GateRequest,
  gateHeaders,
  gateTable,
  pairwiseRequests,
  type Verdict,
} from '../support/gate-table.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { inParallel, type RawAnswer, rawAnswer, requestBytes } from '../support/raw-http.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from '../support/test-service.ts'

/** Short form: every value alone, and every host with every origin. */
function mostRequests(port: number) {
  const table = gateTable(port)
  const { alone, pairs } = pairwiseRequests(table)
  return FULL ? everyRequest(table) : [...alone, ...pairs]
}
const AT_ONCE = 48
const WEBSOCKET: [string, string][] = [
  ['Upgrade', 'websocket'],
  ['Sec-WebSocket-Version', '13'],
  ['Sec-WebSocket-Key', 'dGhlIHNhbXBsZSBub25jZQ=='],
]

const WEBSOCKET_ACCEPTED = 101

interface Door {
  readonly method: string
  readonly url: string
  /** The status of an accepted request. */
  readonly accepted: number
  readonly headers?: [string, string][]
  readonly body?: () => string
}

const JSON_TYPE: [string, string] = ['Content-Type', 'application/json']
const portOf = (service: TestService): number => (service.fastify.server.address() as AddressInfo).port

/** Sends every given combination with the right token. Returns a sentence for each wrong decision of the gate. */
async function sendAll(
  port: number,
  door: Door,
  requests: readonly [GateRequest, Verdict][],
): Promise<string[]> {
  const wrong: string[] = []
  await inParallel(requests, AT_ONCE, async ([request, verdict]) => {
    const headers = [
      ...gateHeaders(request),
      ['X-SVC-Token', TOKEN] as [string, string],
      ...(door.headers ?? []),
    ]
    const answer = await rawAnswer({ port }, requestBytes(door.method, door.url, headers, door.body?.()))
    const fault = faultOf(answer, door, verdict)
    if (fault) wrong.push(`${door.method} ${door.url} ${JSON.stringify(request)}: ${fault}`)
  })
  return wrong
}

function faultOf(answer: RawAnswer, { method, accepted }: Door, verdict: Verdict): string | undefined {
  if (answer.head.includes('access-control-')) return 'a CORS header'
  if (verdict === 'in')
    return answer.status === accepted ? undefined : `wrongly refused with ${answer.status}`
  if (answer.status !== 403) return `wrongly accepted with ${answer.status}`
  if (method === 'HEAD') return answer.body === '' ? undefined : 'the response to HEAD has a body'
  const { code, status, request_id, type } = JSON.parse(answer.body)
  if (code !== verdict) return `refused as ${code} instead of ${verdict}`
  const shaped =
    status === 403 && type === `/docs/errors/${code}` && answer.header('x-request-id') === request_id
  return shaped ? undefined : `another shape: ${answer.body}`
}

/** An accepted request ends the service. */
const SHUTDOWN = '/api/shutdown'

/** Takes the name of the sample server, so that it can be neither added nor removed: each route has one status. */
async function takeSampleName(service: TestService): Promise<void> {
  const payload = { name: 'sample', url: 'https://docs.example/mcp', enabled: false }
  const reply = await service.inject({
    method: 'POST',
    url: '/api/http-servers',
    headers: AUTHORISED,
    payload,
  })
  expect(reply.statusCode).toBe(201)
}

/** Every other route of the service, with a value for each parameter. */
async function everyDoor(service: TestService): Promise<Door[]> {
  const fillers: Record<string, string> = { file: 'start.js', code: 'not_found' }
  const doors: Door[] = []
  for (const { method, url } of service.app.methods.list()) {
    if (url === SHUTDOWN) continue
    const path = url.replace(/:(\w+)/g, (_, name: string) => fillers[name] ?? 'missing')
    const headers = [
      ['Host', `127.0.0.1:${portOf(service)}`],
      ['X-SVC-Token', TOKEN],
    ] as const
    const { status } = await rawAnswer({ port: portOf(service) }, requestBytes(method, path, headers))
    doors.push({ method, url: path, accepted: status })
  }
  return doors
}

/** 45,000 connections in the long form: no limit of speed, and far from one. */
describe('the gate', { timeout: 600_000 }, () => {
  test('R8: the gate checks every host, origin and site of a read', async () => {
    const service = await openTestService()
    const door = { method: 'GET', url: '/api/servers', accepted: 200 }
    expect(await sendAll(portOf(service), door, mostRequests(portOf(service)))).toEqual([])
  })

  test('R8: the gate checks every change, and a refused change has no effect', async () => {
    const service = await openTestService()
    let count = 0
    const body = () => JSON.stringify({ name: `server ${++count}`, command: 'node' })
    const door = { method: 'POST', url: '/api/servers', accepted: 201, headers: [JSON_TYPE], body }
    const requests = mostRequests(portOf(service))
    expect(await sendAll(portOf(service), door, requests)).toEqual([])
    const { total } = (await service.inject('/api/servers')).json()
    expect(total).toBe(requests.filter(([, verdict]) => verdict === 'in').length)
  })

  test('R8: the gate checks every host, origin and site of a request for the documentation', async () => {
    const service = await openTestService()
    const door = { method: 'GET', url: '/docs', accepted: 200 }
    expect(await sendAll(portOf(service), door, mostRequests(portOf(service)))).toEqual([])
  })

  test('R8: the gate checks every host, origin and site of a WebSocket upgrade', async () => {
    const service = await openTestService()
    const door = { method: 'GET', url: '/api/ws/metrics', accepted: WEBSOCKET_ACCEPTED, headers: WEBSOCKET }
    expect(await sendAll(portOf(service), door, mostRequests(portOf(service)))).toEqual([])
  })

  test('R8: the gate checks every route, for each bad value alone and in pairs', async () => {
    covers('path-relative-to-base-url', 'base-url')
    const service = await openTestService()
    await takeSampleName(service)
    const doors = await everyDoor(service)
    expect(doors.length).toBeGreaterThan(30)
    expect(doors.filter(({ accepted }) => [0, 401, 403].includes(accepted))).toEqual([])
    const { alone, pairs } = pairwiseRequests(gateTable(portOf(service)))
    const badSites = alone.filter(([, verdict]) => verdict === 'cross_site')
    expect(badSites).toHaveLength(2)
    let [sent, wrong] = [0, 0]
    for (const [index, door] of doors.entries()) {
      // Short form: each route gets a sixth of the values, a bad site and a few of the pairs, others than its neighbours.
      const part = <T>(all: readonly T[], parts: number) => all.filter((_, n) => n % parts === index % parts)
      const own = FULL ? [...alone, ...pairs] : [...part(alone, 6), ...part(badSites, 2), ...part(pairs, 128)]
      const found = await sendAll(portOf(service), door, own)
      sent += own.length
      wrong += found.length
      expect(found).toEqual([])
    }
    expect(sent).toBeGreaterThan(doors.length * Math.floor(alone.length / (FULL ? 1 : 6)))
    const shutdown = { method: 'POST', url: SHUTDOWN, accepted: 202 }
    const refused = [...alone, ...pairs].filter(([, verdict]) => verdict !== 'in')
    expect(await sendAll(portOf(service), shutdown, refused)).toEqual([])
    expect((await service.inject('/api/servers')).statusCode).toBe(200)
    figure('R8', `wrong decisions in ${sent} requests to ${doors.length} routes`, wrong, { exactly: 0 })
  })
})

describe('the host', () => {
  const shared = sharedByTests(() => openTestService())
  const allowing = sharedByTests(() =>
    openTestService({ env: { ALLOWED_HOSTS: 'toolroom.lan, proxy.lan:9000' } }),
  )
  const good = (port: number): [string, string] => ['Host', `127.0.0.1:${port}`]

  test.each<[name: string, bytes: (port: number) => string]>([
    ['two Host headers', (port) => requestBytes('GET', '/api/health', [good(port), ['Host', 'evil.com']])],
    ['the same Host twice', (port) => requestBytes('GET', '/api/health', [good(port), good(port)])],
    ['no Host', () => requestBytes('GET', '/api/health', [])],
    ['an empty Host', () => requestBytes('GET', '/api/health', [['Host', '']])],
    ['HTTP/1.0 without Host', () => 'GET /api/health HTTP/1.0\r\n\r\n'],
    [
      'an absolute target',
      (port) => requestBytes('GET', `http://127.0.0.1:${port}/api/health`, [good(port)]),
    ],
    ['an absolute target on another host', (port) => requestBytes('GET', 'http://evil.com/', [good(port)])],
    ['a target without a slash', (port) => requestBytes('OPTIONS', '*', [good(port)])],
    [
      'an upgrade with two Hosts',
      (port) => requestBytes('GET', '/api/ws/metrics', [good(port), ['Host', 'evil.com'], ...WEBSOCKET]),
    ],
    ['an upgrade without Host', () => requestBytes('GET', '/api/ws/metrics', WEBSOCKET)],
  ])('%s is a bad request', async (_, bytes) => {
    const service = await shared()
    const answer = await rawAnswer({ port: portOf(service) }, bytes(portOf(service)))
    expect(answer.status).toBe(400)
    expect(JSON.parse(answer.body)).toMatchObject({ status: 400, code: 'bad_host_header' })
  })

  test('an HTTP/1.0 request with a Host header is accepted', async () => {
    const service = await shared()
    const bytes = `GET /api/health HTTP/1.0\r\nHost: 127.0.0.1:${portOf(service)}\r\n\r\n`
    expect((await rawAnswer({ port: portOf(service) }, bytes)).status).toBe(200)
  })

  test('X-Forwarded-Host is ignored', async () => {
    const service = await shared()
    const port = portOf(service)
    const ask = (host: string, forwarded: string) =>
      rawAnswer(
        { port },
        requestBytes('GET', '/api/health', [
          ['Host', host],
          ['X-Forwarded-Host', forwarded],
        ]),
      )
    expect((await ask('evil.com', `127.0.0.1:${port}`)).status).toBe(403)
    expect((await ask(`127.0.0.1:${port}`, 'evil.com')).status).toBe(200)
  })

  test.each([
    ['toolroom.lan', 200],
    ['toolroom.lan:PORT', 200],
    ['TOOLROOM.lan', 200],
    ['proxy.lan:9000', 200],
    ['localhost:PORT', 200],
    ['proxy.lan', 403],
    ['proxy.lan:PORT', 403],
    ['toolroom.lan:9000', 403],
    ['a.toolroom.lan', 403],
    ['toolroom.lan.evil.com', 403],
  ])('with ALLOWED_HOSTS=toolroom.lan,proxy.lan:9000 the host %s gets status %i', async (name, status) => {
    const service = await allowing()
    const host = name.replace('PORT', String(portOf(service)))
    const origins = status === 200 ? [null, `http://${host}`, `https://${host}`] : [null]
    for (const origin of origins) {
      const headers = gateHeaders({ host, origin, site: null })
      const answer = await rawAnswer({ port: portOf(service) }, requestBytes('GET', '/api/health', headers))
      expect(answer.status).toBe(status)
    }
  })

  const addresses = Object.values(networkInterfaces())
    .flatMap((list) => list ?? [])
    .filter(({ address }) => !address.startsWith('fe80'))
  const everywhere = ['0.0.0.0', ...(addresses.some(({ family }) => family === 'IPv6') ? ['::'] : [])]

  test.each(everywhere)(
    'when listening on %s, the address that a connection was made to is an allowed host',
    async (HOST) => {
      const reachable = addresses
        .filter(({ family }) => family === 'IPv4' || HOST === '::')
        .map(({ address }) => address)
      const service = await openTestService({ env: { HOST } })
      const port = portOf(service)
      const authority = (address: string) =>
        address.includes(':') ? `[${address}]:${port}` : `${address}:${port}`
      for (const host of reachable) {
        const ask = (named: string) =>
          rawAnswer({ host, port }, requestBytes('GET', '/api/health', [['Host', authority(named)]]))
        expect((await ask(host)).status).toBe(200)
        for (const other of reachable.filter((each) => each !== host && !/^(127\.0\.0\.1|::1)$/.test(each)))
          expect((await ask(other)).status).toBe(403)
      }
    },
  )
})

describe('a web page of another origin', () => {
  const shared = sharedByTests(() => openTestService())
  const answerTo = async (
    service: TestService,
    method: string,
    path: string,
    headers: [string, string][],
  ) => {
    const host: [string, string] = ['Host', `localhost:${portOf(service)}`]
    return rawAnswer({ port: portOf(service) }, requestBytes(method, path, [host, ...headers]))
  }

  test.each(['/api/servers', '/api/health', '/docs', '/api/nowhere'])(
    'a preflight request of another origin to %s gets no permission',
    async (path) => {
      const service = await shared()
      const asked: [string, string][] = [
        ['Access-Control-Request-Method', 'POST'],
        ['Access-Control-Request-Headers', 'x-svc-token'],
        ['Access-Control-Request-Private-Network', 'true'],
      ]
      const foreign = await answerTo(service, 'OPTIONS', path, [['Origin', 'https://evil.com'], ...asked])
      expect(foreign.status).toBe(403)
      expect(foreign.head).not.toContain('access-control-')
      const own: [string, string] = ['Origin', `http://localhost:${portOf(service)}`]
      const ours = await answerTo(service, 'OPTIONS', path, [own, ...asked])
      expect(ours.status).toBe(path === '/api/nowhere' ? 404 : 405)
      expect(ours.head).not.toContain('access-control-')
    },
  )

  test('a request is refused if one of its duplicate headers has another origin', async () => {
    const service = await shared()
    const own = `http://localhost:${portOf(service)}`
    for (const origins of [
      [own, 'https://evil.com'],
      ['https://evil.com', own],
    ]) {
      const headers = origins.map((origin): [string, string] => ['Origin', origin])
      expect((await answerTo(service, 'GET', '/api/servers', headers)).status).toBe(403)
    }
    for (const sites of [
      ['same-origin', 'cross-site'],
      ['cross-site', 'none'],
    ]) {
      const headers = sites.map((site): [string, string] => ['Sec-Fetch-Site', site])
      expect((await answerTo(service, 'GET', '/api/servers', headers)).status).toBe(403)
    }
  })

  test('a refused request of another origin gets a problem that browsers can neither read nor cache', async () => {
    const service = await shared()
    const answer = await answerTo(service, 'GET', '/api/servers', [['Origin', 'https://evil.com']])
    expect(JSON.parse(answer.body)).toEqual({
      type: '/docs/errors/origin_not_allowed',
      title: 'Origin not allowed',
      status: 403,
      detail: expect.any(String),
      code: 'origin_not_allowed',
      request_id: expect.stringMatching(/^req_[\w-]{12}$/),
    })
    expect(Object.fromEntries(answer.head.split('\n').map((line) => line.split(/: (.*)/s)))).toMatchObject({
      'content-type': 'application/problem+json',
      'content-security-policy': expect.stringContaining("frame-ancestors 'none'"),
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'deny',
      'referrer-policy': 'no-referrer',
      'cross-origin-resource-policy': 'same-origin',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
      'x-request-id': JSON.parse(answer.body).request_id.toLowerCase(),
    })
  })
})

describe('the pages of a login', () => {
  const PAGES = [
    '/oauth/callback',
    '/oauth/callback?code=a&state=b',
    '/oauth/done?id=x',
    '/oauth/start/ab-_9',
  ]
  const NAVIGATION = { mode: 'navigate', dest: 'document', site: 'cross-site' }
  const verdict = async (
    service: TestService,
    method: string,
    path: string,
    sent: Record<string, string>,
  ) => {
    const { host = `localhost:${portOf(service)}`, origin, ...metadata } = sent
    const headers = Object.entries(metadata).map(([name, value]): [string, string] => [
      `Sec-Fetch-${name}`,
      value,
    ])
    const own: [string, string][] = [
      ['Host', host],
      ...(origin ? [['Origin', origin] as [string, string]] : []),
    ]
    const { status, body } = await rawAnswer(
      { port: portOf(service) },
      requestBytes(method, path, [...own, ...headers]),
    )
    return status === 403 ? JSON.parse(body).code : 'in'
  }

  test('an issuer may redirect the browser to them, and nothing else of another site is let in (docs/login.md)', async () => {
    const service = await openTestService()
    for (const path of PAGES)
      for (const site of ['cross-site', 'same-site'])
        expect.soft(await verdict(service, 'GET', path, { ...NAVIGATION, site }), path).toBe('in')
    const refused: [method: string, path: string, sent: Record<string, string>][] = [
      ...[
        '/oauth/callback/',
        '/oauth/callbackx',
        '/oauth/%63allback',
        '/oauth',
        '/oauth/start',
        '/oauth/start/a/b',
      ].map((path): [string, string, Record<string, string>] => ['GET', path, NAVIGATION]),
      ...['/api/servers', '/', '/docs', '/mcp?/oauth/done', '/api/servers?x=/oauth/callback'].map(
        (path): [string, string, Record<string, string>] => ['GET', path, NAVIGATION],
      ),
      ...['POST', 'PUT', 'DELETE', 'OPTIONS'].flatMap((method) =>
        PAGES.map((path): [string, string, Record<string, string>] => [method, path, NAVIGATION]),
      ),
      ...[
        { site: 'cross-site' },
        { ...NAVIGATION, mode: 'cors' },
        { ...NAVIGATION, mode: 'no-cors' },
        { ...NAVIGATION, dest: 'iframe' },
        { ...NAVIGATION, dest: 'image' },
        { ...NAVIGATION, dest: 'empty' },
        { ...NAVIGATION, site: 'cross-site, same-origin' },
      ].map((sent): [string, string, Record<string, string>] => ['GET', '/oauth/callback', sent]),
    ]
    for (const [method, path, sent] of refused)
      expect
        .soft(await verdict(service, method, path, sent), `${method} ${path} ${JSON.stringify(sent)}`)
        .toBe('cross_site')
    for (const path of PAGES) {
      const named = { ...NAVIGATION, host: 'evil.com' }
      expect.soft(await verdict(service, 'GET', path, named), path).toBe('host_not_allowed')
      const foreign = { ...NAVIGATION, origin: 'https://evil.com' }
      expect.soft(await verdict(service, 'GET', path, foreign), path).toBe('origin_not_allowed')
    }
  })

  test('the host of PUBLIC_URL is allowed like those in ALLOWED_HOSTS', async () => {
    const service = await openTestService({ env: { PUBLIC_URL: 'https://toolroom.example.com/tools/' } })
    const host = 'toolroom.example.com'
    expect(await verdict(service, 'GET', '/oauth/done', { ...NAVIGATION, host })).toBe('in')
    expect(
      await verdict(service, 'POST', '/oauth/start/a', {
        host,
        origin: `https://${host}`,
        site: 'same-origin',
      }),
    ).toBe('in')
    expect(
      await verdict(service, 'POST', '/oauth/start/a', { host, origin: 'null', site: 'same-origin' }),
    ).toBe('origin_not_allowed')
  })
})

describe('upgrade requests', () => {
  const h2c: [string, string][] = [
    ['Upgrade', 'h2c'],
    ['HTTP2-Settings', 'AAMAAABkAAQAAP__'],
  ]

  test('an upgrade request to h2c is ignored and served over HTTP/1.1', async () => {
    const service = await openTestService()
    const host: [string, string] = ['Host', `127.0.0.1:${portOf(service)}`]
    const read = await rawAnswer(
      { port: portOf(service) },
      requestBytes('GET', '/api/health', [host, ...h2c]),
      true,
    )
    expect([read.status, JSON.parse(read.body).status]).toEqual([200, 'ok'])
    const foreign = requestBytes('GET', '/api/health', [['Host', 'evil.com'], ...h2c])
    expect((await rawAnswer({ port: portOf(service) }, foreign)).status).toBe(403)
  })

  // Java's HttpClient sends this upgrade with every request to an http URL, including requests with a body.
  test('an upgrade request to h2c with a body is ignored and served over HTTP/1.1', async () => {
    const service = await openTestService()
    const host: [string, string] = ['Host', `127.0.0.1:${portOf(service)}`]
    const headers = [host, ['X-SVC-Token', TOKEN] as [string, string], JSON_TYPE, ...h2c]
    const bytes = requestBytes('POST', '/api/servers', headers, '{"name":"a","command":"node"}')
    expect((await rawAnswer({ port: portOf(service) }, bytes, true)).status).toBe(201)
  })

  test('every request of one connection may ask for an upgrade to h2c', async () => {
    const service = await openTestService()
    const warnings: string[] = []
    const onWarning = ({ message }: Error) => void warnings.push(message)
    process.on('warning', onWarning)
    onTestFinished(() => void process.off('warning', onWarning))
    const socket = connect({ host: '127.0.0.1', port: portOf(service) })
    onTestFinished(() => void socket.destroy())
    for (let count = 0; count < 12; count += 1) {
      socket.write(requestBytes('GET', '/api/health', [['Host', `127.0.0.1:${portOf(service)}`], ...h2c]))
      const [answer] = await once(socket, 'data')
      expect(String(answer)).toMatch(/^HTTP\/1\.1 200 /)
    }
    expect(warnings).toEqual([])
  })

  test('a WebSocket upgrade on any other path is not found', async () => {
    const service = await openTestService()
    const host: [string, string] = ['Host', `127.0.0.1:${portOf(service)}`]
    const bytes = requestBytes('GET', '/api/servers', [host, ...WEBSOCKET])
    const answer = await rawAnswer({ port: portOf(service) }, bytes)
    expect([answer.status, JSON.parse(answer.body).code]).toEqual([404, 'not_found'])
  })
})
