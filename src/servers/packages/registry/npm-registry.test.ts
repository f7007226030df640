import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test } from 'vitest'
import {
  type Fault,
  openRegistry,
  type TestPackage,
  toolPackage,
} from '../../../../test/support/registry/registry.ts'
import { Registry } from './npm-registry.ts'
import { npmSettings } from './npm-settings.ts'

const NOW = Date.parse('2026-06-01T00:00:00Z')
const PATIENT_MS = 60_000
const open = { credentials: false }

describe('packuments', () => {
  test('a packument has versions, tags, times and people', async () => {
    const { registry } = await service([
      toolPackage('notes-mcp', '1.0.0', { postinstall: true }),
      toolPackage('notes-mcp', '1.1.0', {
        deprecated: 'use 2',
        provenance: true,
        publishedAt: '2026-05-01T00:00:00.000Z',
      }),
      toolPackage('notes-mcp', '2.0.0-rc.1', { tags: ['next'] }),
    ])
    const packument = await registry.packument('notes-mcp', open)
    expect(packument).toMatchObject({ name: 'notes-mcp', form: 'full', maintainers: ['toolsmith'] })
    expect([...packument.tags]).toEqual([
      ['latest', '1.1.0'],
      ['next', '2.0.0-rc.1'],
    ])
    expect(packument.releases.get('1.0.0')).toMatchObject({
      hasInstallScript: true,
      attested: null,
      deprecated: null,
    })
    expect(packument.releases.get('1.1.0')).toMatchObject({
      integrity: expect.stringMatching(/^sha512-/),
      hasInstallScript: false,
      attested: true,
      deprecated: 'use 2',
      license: 'MIT',
      publisher: 'toolsmith',
      publishedAt: Date.parse('2026-05-01T00:00:00Z'),
    })
  })

  test('the abbreviated form has null for what it does not contain', async () => {
    const { registry } = await service([
      toolPackage('notes-mcp'),
      toolPackage('scripted', '1.0.0', { postinstall: true }),
    ])
    const asking = { ...open, form: 'abbreviated' } as const
    const plain = await registry.packument('notes-mcp', asking)
    const scripted = await registry.packument('scripted', asking)
    expect(plain.form).toBe('abbreviated')
    expect(plain.releases.get('1.0.0')).toMatchObject({
      hasInstallScript: null,
      license: null,
      publishedAt: null,
    })
    expect(scripted.releases.get('1.0.0')?.hasInstallScript).toBe(true)
  })

  test('the abbreviated form is requested when the full one is too large', async () => {
    const versions = { '1.0.0': { dist: {} } }
    const url = await site((request, response) => {
      const short = request.headers.accept?.includes('install-v1')
      const full = { name: 'big', versions, time: {}, readme: 'x'.repeat(21 * 1024 * 1024) }
      response.setHeader('content-encoding', 'gzip')
      response.end(gzipSync(JSON.stringify(short ? { name: 'big', versions } : full)))
    })
    expect((await registryAt(url).packument('big', open)).form).toBe('abbreviated')
  })

  test('a scoped package is requested from the registry of its scope', async () => {
    const { server } = await service([toolPackage('@work/tools')])
    const registry = registryAt('http://127.0.0.1:9/', `@work:registry=${server.url}`)
    expect((await registry.packument('@work/tools', open)).name).toBe('@work/tools')
    expect(server.requests[0]?.path).toBe('/@work%2ftools')
  })

  test.each<[Fault, string]>([
    ['unauthorized', 'registry_refused'],
    ['server_error', 'registry_failed'],
    ['not_json', 'registry_failed'],
    ['truncated', 'registry_failed'],
    ['silent', 'registry_timeout'],
    ['not_found', 'package_not_found'],
  ])('a registry that is %s fails with %s', async (fault, code) => {
    const { server } = await service([toolPackage('notes-mcp')], { 'notes-mcp': fault })
    const registry = registryAt(server.url, '', fault === 'silent' ? 500 : PATIENT_MS)
    const error = await failureOf(registry.packument('notes-mcp', open))
    expect(error).toMatchObject({ code, hint: expect.any(String) })
    expect(error.message).toContain(server.url.slice('http://'.length))
  })

  test('a registry that does not listen, does not exist or is blocked is registry_unreachable', async () => {
    for (const url of ['http://127.0.0.1:9/', 'http://no-such-host.invalid/', 'http://169.254.169.254/']) {
      expect(await failureOf(registryAt(url).packument('x', open))).toMatchObject({
        code: 'registry_unreachable',
      })
    }
  })

  test('an aborted lookup rejects with the reason of the signal', async () => {
    const { registry } = await service([toolPackage('slow')], { slow: 'silent' })
    const signal = AbortSignal.timeout(50)
    await expect(registry.packument('slow', { ...open, signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    })
  })

  test('a response that does not describe the requested package is registry_failed', async () => {
    for (const body of [
      '{"name":"other","versions":{}}',
      '[]',
      'null',
      '"x"',
      '{"name":"x","versions":[]}',
    ]) {
      const url = await site((_, response) => response.end(body))
      expect(await failureOf(registryAt(url).packument('x', open))).toMatchObject({ code: 'registry_failed' })
    }
  })

  test.each([
    ['@playwrigth/mcp', '@playwright/mcp'],
    ['server-filesystem', '@modelcontextprotocol/server-filesystem'],
    ['notes-mpc', 'notes-mcp'],
  ])('the hint for the unknown name %s suggests %s', async (name, meant) => {
    const { registry } = await service([
      toolPackage('notes-mcp', '1.0.0', { manifest: { keywords: ['notes-mpc'] } }),
    ])
    expect((await failureOf(registry.packument(name, open))).hint).toBe(`Did you mean '${meant}'?`)
  })
})

describe('logins', () => {
  test('a login is sent to its registry, and only with credentials: true', async () => {
    const { server } = await service([toolPackage('notes-mcp')], {}, { token: 's3cret' })
    const registry = registryAt(server.url, `${server.url.slice('http:'.length)}/:_authToken=s3cret`)
    const error = await failureOf(registry.packument('notes-mcp', open))
    expect(error).toMatchObject({ code: 'registry_refused' })
    expect(server.requests.at(-1)?.authorization).toBeUndefined()
    expect((await registry.packument('notes-mcp', { credentials: true })).name).toBe('notes-mcp')
    expect(server.requests.at(-1)?.authorization).toBe('Bearer s3cret')
  })

  test('a login does not follow a redirect to another origin, and is in no error', async () => {
    const { server } = await service([toolPackage('notes-mcp')])
    const url = await site((request, response) => {
      expect(request.headers.authorization).toBe('Bearer s3cret')
      response.writeHead(302, { location: `${server.url}${request.url}` }).end()
    })
    const logins = [url, server.url]
      .map((one) => `${one.slice('http:'.length)}/:_authToken=s3cret`)
      .join('\n')
    const registry = registryAt(url, logins)
    expect((await registry.packument('notes-mcp', { credentials: true })).name).toBe('notes-mcp')
    expect(server.requests[0]?.authorization).toBeUndefined()
    const error = await failureOf(registry.packument('missing', { credentials: true }))
    expect(JSON.stringify([error.message, error.hint, error.cause])).not.toContain('s3cret')
  })

  test('redirect loops, and redirects to other schemes or blocked addresses, fail', async () => {
    for (const location of ['/x', 'file:///etc/passwd', 'http://', 'http://169.254.169.254/x']) {
      const url = await site((_, response) => response.writeHead(302, { location }).end())
      const { code } = await failureOf(registryAt(url).packument('x', open))
      expect(['registry_failed', 'registry_unreachable']).toContain(code)
    }
  })
})

async function service(
  packages: readonly TestPackage[],
  faults: Record<string, Fault> = {},
  options: Parameters<typeof openRegistry>[2] = {},
) {
  const server = await openRegistry(packages, faults, options)
  onTestFinished(server.close)
  return { server, registry: registryAt(server.url) }
}

function registryAt(url: string, npmrc = '', deadlineMs = PATIENT_MS): Registry {
  const settings = npmSettings(JSON.stringify({ registry: url }), [npmrc], {})
  return new Registry({ settings: async () => settings, now: () => NOW, deadlineMs })
}

async function site(answer: RequestListener): Promise<string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

async function failureOf(
  work: Promise<unknown>,
): Promise<{ code: string; message: string; hint: string; cause: unknown }> {
  return work.then(
    () => expect.unreachable('the request succeeded'),
    (error) => error,
  )
}
