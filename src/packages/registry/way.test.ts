import { createServer, type Server } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { openHttps, pem } from '../../../test/fixtures/http/sites.ts'
import { openRegistry, toolPackage } from '../../../test/support/registry/registry.ts'
import { npmSettings } from './npm-settings.ts'
import { Registry } from './registry.ts'

const listening = async (server: Server): Promise<number> => {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return (server.address() as AddressInfo).port
}

/** A registry behind a certificate that nobody else trusts. */
async function secureRegistry() {
  const plain = await openRegistry([toolPackage('x')])
  onTestFinished(() => plain.close())
  const site = await openHttps('good', async (request, response) => {
    const answer = await fetch(`${plain.url}${request.url}`)
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  onTestFinished(() => site.close())
  return { url: `${site.origin}/`, host: new URL(site.origin).host, cert: pem('authority'), port: site.port }
}

const registryWith = (config: object, cafile = '') =>
  new Registry({ settings: async () => npmSettings(JSON.stringify(config), [], {}, cafile), now: Date.now })
const asking = { credentials: false }

test('the certificates that npm trusts are trusted here, and no others', async () => {
  const { url, cert } = await secureRegistry()
  await expect(registryWith({ registry: url }).packument('x', asking)).rejects.toMatchObject({
    code: 'registry_unreachable',
  })
  expect((await registryWith({ registry: url }, cert).packument('x', asking)).name).toBe('x')
  expect((await registryWith({ registry: url, ca: [cert] }).packument('x', asking)).name).toBe('x')
})

test('the proxy that npm uses is used here, with its login, and not for hosts that are spared', async () => {
  const { url, host, cert, port } = await secureRegistry()
  const asked: [string | undefined, string | undefined][] = []
  const proxy = createServer()
  proxy.on('connect', (request, socket) => {
    asked.push([request.url, request.headers['proxy-authorization']])
    const through = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n')
      through.pipe(socket).pipe(through)
    })
    through.on('error', () => socket.destroy())
    socket.on('error', () => through.destroy())
  })
  const at = await listening(proxy)
  const config = { registry: url, 'https-proxy': `http://me:pass@127.0.0.1:${at}` }
  expect((await registryWith(config, cert).packument('x', asking)).name).toBe('x')
  expect(asked).toEqual([[host, `Basic ${Buffer.from('me:pass').toString('base64')}`]])
  expect(
    (await registryWith({ ...config, noproxy: new URL(url).hostname }, cert).packument('x', asking)).name,
  ).toBe('x')
  expect(asked).toHaveLength(1)
})

test('a plain registry is asked through a plain proxy, and a proxy that refuses is said', async () => {
  const registry = await openRegistry([toolPackage('x')])
  onTestFinished(() => registry.close())
  const proxy = createServer((request, response) => {
    if (request.headers['proxy-authorization'] === undefined) return void response.writeHead(407).end()
    void fetch(request.url ?? '').then(async (answer) => {
      response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
    })
  })
  const at = await listening(proxy)
  const config = (login: string) => ({ registry: registry.url, proxy: `http://${login}127.0.0.1:${at}` })
  expect((await registryWith(config('a:b@')).packument('x', asking)).name).toBe('x')
  await expect(registryWith(config('')).packument('x', asking)).rejects.toMatchObject({
    code: 'registry_failed',
  })
})
