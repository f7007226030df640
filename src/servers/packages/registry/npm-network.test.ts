import { expect, onTestFinished, test } from 'vitest'
import { openProxy } from '../../../../test/fixtures/http/proxy.ts'
import { openHttps, pem } from '../../../../test/fixtures/http/sites.ts'
import { openRegistry, toolPackage } from '../../../../test/support/registry/registry.ts'
import { Registry } from './npm-registry.ts'
import { npmSettings } from './npm-settings.ts'

const AUTHORITY = pem('authority')

async function plainRegistry() {
  const registry = await openRegistry([toolPackage('x')])
  onTestFinished(() => registry.close())
  return registry
}

/** A registry whose certificate is trusted only by the tests' own authority. */
async function secureRegistry(certificate: 'good' | 'other-host') {
  const plain = await plainRegistry()
  const site = await openHttps(certificate, async (request, response) => {
    const answer = await fetch(`${plain.url}${request.url}`)
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(await answer.text())
  })
  onTestFinished(() => site.close())
  return site
}

async function testProxy() {
  const proxy = await openProxy()
  onTestFinished(() => proxy.close())
  return { ...proxy, host: new URL(proxy.origin).host, lines: () => proxy.requests.map(({ line }) => line) }
}

function packumentWith(config: object, { cafile = '', env = {} } = {}) {
  const settings = npmSettings(JSON.stringify(config), [], env, cafile)
  return new Registry({ settings: async () => settings, now: Date.now }).packument('x', {
    credentials: false,
  })
}

test('the certificate authorities of npm are trusted, and no others', async () => {
  const { origin: registry } = await secureRegistry('good')
  await expect(packumentWith({ registry })).rejects.toMatchObject({
    code: 'registry_unreachable',
    message: expect.stringContaining('cannot be verified: its authority is unknown'),
    hint: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
  })
  expect((await packumentWith({ registry }, { cafile: AUTHORITY })).name).toBe('x')
  expect((await packumentWith({ registry, ca: [AUTHORITY] })).name).toBe('x')
  expect((await packumentWith({ registry, ca: AUTHORITY.replaceAll('\n', '\\n') })).name).toBe('x')
})

test('an https registry is requested through the proxy of npm with its login, unless npm lists it as noproxy', async () => {
  const { port } = await secureRegistry('other-host')
  const proxy = await testProxy()
  const config = {
    registry: `https://elsewhere.test:${port}/`,
    'https-proxy': `http://me:pass@${proxy.host}`,
  }
  expect((await packumentWith(config, { cafile: AUTHORITY })).name).toBe('x')
  expect(proxy.lines()).toEqual([`CONNECT elsewhere.test:${port}`])
  expect(proxy.requests[0]?.headers['proxy-authorization']).toBe(
    `Basic ${Buffer.from('me:pass').toString('base64')}`,
  )
  await expect(
    packumentWith({ ...config, noproxy: ['other.test', 'elsewhere.test'] }, { cafile: AUTHORITY }),
  ).rejects.toMatchObject({ code: 'registry_unreachable', message: expect.stringContaining('was not found') })
  expect(proxy.requests).toHaveLength(1)
})

test('a plain http registry is requested through the proxy of npm, or of the environment', async () => {
  const { port } = new URL((await plainRegistry()).url)
  const [own, common] = [await testProxy(), await testProxy()]
  const registry = `http://plain.test:${port}/`
  const env = { HTTP_PROXY: common.origin }
  expect((await packumentWith({ registry, proxy: own.origin }, { env })).name).toBe('x')
  expect((await packumentWith({ registry, proxy: null }, { env })).name).toBe('x')
  expect([own.lines(), common.lines()]).toEqual([[`GET ${registry}x`], [`GET ${registry}x`]])
})

test('a registry on this computer is never requested through a proxy', async () => {
  const { url } = await plainRegistry()
  const proxy = await testProxy()
  expect((await packumentWith({ registry: url, proxy: proxy.origin })).name).toBe('x')
  expect(proxy.requests).toEqual([])
})

test.each(['http', 'https'])(
  'a proxy that refuses %s is named, with the setting and without its login',
  async (scheme) => {
    const proxy = await testProxy()
    proxy.refuse(407)
    const config = { registry: `${scheme}://elsewhere.test/`, proxy: `http://me:pa55word@${proxy.host}` }
    const error: Error & { hint?: string } = await packumentWith(config).then(
      () => expect.unreachable('the request succeeded'),
      (failure) => failure,
    )
    expect(error).toMatchObject({
      code: 'registry_unreachable',
      message: `The registry elsewhere.test cannot be reached: The proxy ${proxy.host} (set by npm's setting 'proxy') rejects the login (status 407)`,
      hint: "Correct the user name and password in npm's setting 'proxy'",
    })
    expect(`${error.message} ${error.hint} ${error.stack}`).not.toContain('pa55word')
  },
)
