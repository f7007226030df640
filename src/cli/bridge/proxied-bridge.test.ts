import { connect } from 'node:net'
import { createServer } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../../../test/fixtures/http/proxy.ts'
import { listening, openHttp, openHttps, pem, type Site } from '../../../test/fixtures/http/sites.ts'
import { keyFor, openBridge } from '../../../test/support/bridge.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService, type TestService } from '../../../test/support/test-service.ts'
import { networkFrom } from '../run/service-address.ts'
import { Bridge } from './bridge.ts'
import { Link } from './gateway-link.ts'

const AUTHORITY = fileURLToPath(
  new URL('../../../test/fixtures/http/certificates/authority.pem', import.meta.url),
)

async function opened<T extends Site>(opening: Promise<T>): Promise<T> {
  const site = await opening
  onTestFinished(() => site.close())
  return site
}

async function houseWithEcho(hosts: string) {
  const service = await openTestService({ env: { ALLOWED_HOSTS: hosts } })
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  return { service, key: (await keyFor(service)).key, port: new URL(service.address).port }
}

/** Lists, calls, and receives a notification on the session's stream, all through the bridge. */
async function useAll(service: TestService, env: Record<string, string>) {
  const bridge = openBridge({ env: { HOME: ownFolder(), ...env } })
  await bridge.greet()
  const call = { name: 'echo__echo', arguments: { text: 'far' } }
  expect(await bridge.ask(1, 'tools/call', call)).toMatchObject({ result: { content: [{ text: 'far' }] } })
  await register(service, 'paged')
  await bridge.until(({ method }) => method === 'notifications/tools/list_changed')
  bridge.child.stdin.end()
  expect(await bridge.ended).toEqual({ code: 0, signal: null })
  expect(bridge.output.stderr).toBe('')
}

/** TLS in front of the service, with the certificate of `elsewhere.test`. */
function openTlsFront(target: { port: string }): Promise<Site> {
  const server = createServer({ key: pem('server-key'), cert: pem('other-host') }, (socket) => {
    const onward = connect(Number(target.port), '127.0.0.1')
    socket.pipe(onward).pipe(socket)
    socket.on('error', () => onward.destroy()).on('close', () => onward.destroy())
    onward.on('error', () => socket.destroy())
  })
  return listening(server, 'https', [])
}

test('the bridge reaches a Toolroom at an https address through a tunnel of HTTPS_PROXY and trusts NODE_EXTRA_CA_CERTS', async () => {
  const target = { port: '' }
  const [front, proxy] = [await opened(openTlsFront(target)), await opened(openProxy())]
  const { service, key, port } = await houseWithEcho(`elsewhere.test:${front.port}`)
  target.port = port
  await useAll(service, {
    TOOLROOM_KEY: key,
    TOOLROOM_URL: `https://elsewhere.test:${front.port}`,
    HTTPS_PROXY: proxy.origin,
    NODE_EXTRA_CA_CERTS: AUTHORITY,
  })
  expect(new Set(proxy.requests.map(({ line }) => line))).toEqual(
    new Set([`CONNECT elsewhere.test:${front.port}`]),
  )
  expect(JSON.stringify(proxy.requests), 'the proxy does not see the key').not.toContain(key)
})

test('the bridge reaches a Toolroom at a plain http address through HTTP_PROXY', async () => {
  const { service, key, port } = await houseWithEcho('plain.test')
  const proxy = await opened(openProxy())
  const url = `http://plain.test:${port}`
  await useAll(service, { TOOLROOM_KEY: key, TOOLROOM_URL: url, http_proxy: proxy.origin })
  expect(new Set(proxy.requests.map(({ line }) => line))).toEqual(
    new Set([`POST ${url}/mcp`, `GET ${url}/mcp`, `DELETE ${url}/mcp`]),
  )
})

test('the bridge never uses a proxy for loopback, with an address from a variable or from the data folder', async () => {
  const { service, key, port } = await houseWithEcho('')
  const proxy = await opened(openProxy())
  const proxies = { HTTP_PROXY: proxy.origin, HTTPS_PROXY: proxy.origin, NO_PROXY: 'other.test' }
  const addresses = [{ TOOLROOM_URL: `http://localhost:${port}` }, { TOOLROOM_HOME: service.data }]
  for (const address of addresses) {
    const bridge = openBridge({ env: { TOOLROOM_KEY: key, ...proxies, ...address } })
    expect(await bridge.greet()).toMatchObject({ result: { protocolVersion: '2025-06-18' } })
  }
  expect(proxy.requests).toEqual([])
})

/** A bridge in this process, to an address behind the proxy. */
function bridgeTo(url: string, proxy: Site, timeoutMs: number) {
  const lines: { id?: unknown; result?: unknown; error?: { message: string } }[] = []
  const env = { HTTP_PROXY: proxy.origin, HTTPS_PROXY: proxy.origin }
  const bridge = new Bridge({
    link: new Link({ find: () => url, key: 'tk_test', network: networkFrom(env) }),
    write: (line) => void lines.push(JSON.parse(line.toString())),
    warn: () => {},
    unavailable: 'Toolroom is not running',
    timeoutMs,
  })
  onTestFinished(() => bridge.end(0))
  const send = (message: object) =>
    bridge.receive(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })))
  return { lines, send }
}

test('a call that a proxy did not forward is sent again until the proxy does, and arrives once', async () => {
  const site = await opened(
    openHttps('other-host', (_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      response.end('{"jsonrpc":"2.0","id":1,"result":{}}')
    }),
  )
  const proxy = await opened(openProxy())
  proxy.refuse(503)
  const link = new Link({
    find: () => `https://elsewhere.test:${site.port}/mcp`,
    key: 'tk_test',
    network: { ...networkFrom({ HTTPS_PROXY: proxy.origin }), ca: pem('authority') },
  })
  const sent: string[] = []
  const body = Buffer.from('{"jsonrpc":"2.0","id":1,"method":"tools/call"}')
  const signal = AbortSignal.timeout(20_000)
  const until = performance.now() + 20_000
  const sending = link.send({
    method: 'POST',
    headers: {},
    body,
    signal,
    until,
    onSent: () => void sent.push('sent'),
  })
  await expect.poll(() => proxy.requests.length).toBeGreaterThan(1)
  expect(sent).toEqual([])
  proxy.refuse(undefined)
  expect(await (await sending).read(1000)).toEqual(Buffer.from('{"jsonrpc":"2.0","id":1,"result":{}}'))
  expect(sent).toEqual(['sent'])
  expect(site.received).toHaveLength(1)
})

test('a Toolroom behind an untrusted certificate is reported with the reason, not as stopped', async () => {
  const site = await opened(openHttps('other-host', (_, response) => void response.end()))
  const proxy = await opened(openProxy())
  const { lines, send } = bridgeTo(`https://elsewhere.test:${site.port}/mcp`, proxy, 200)
  send({ id: 1, method: 'tools/call' })
  await expect.poll(() => lines.length).toBe(1)
  expect(lines[0]?.error?.message).toMatch(
    /^Toolroom cannot be reached: The certificate for elsewhere\.test:\d+ cannot be verified: .*NODE_EXTRA_CA_CERTS/,
  )
})

test('a redirect of the address to another origin is an error that names it, and the key is not sent there', async () => {
  const target = await opened(openHttp((_, response) => void response.end()))
  const proxy = await opened(openProxy())
  const site = await opened(
    openHttp((_, response) => void response.writeHead(308, { location: target.origin }).end()),
  )
  const { lines, send } = bridgeTo(`${site.origin}/mcp`, proxy, 200)
  send({ id: 1, method: 'tools/list' })
  await expect.poll(() => lines.length).toBe(1)
  expect(lines[0]?.error?.message).toContain(`redirects to another origin (${target.origin})`)
  expect([target.received, site.received.length]).toEqual([[], 1])
})
