import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import * as Value from 'typebox/value'
import { describe, expect, onTestFinished, test } from 'vitest'
import { HttpServerInput } from '../../http/http-servers.schema.ts'
import { ServerInput } from '../../stdio/servers.schema.ts'
import { searchMcpRegistry } from './mcp-registry.ts'

const NOW = Date.parse('2026-06-01T00:00:00Z')
const OFFICIAL = 'io.modelcontextprotocol.registry/official'
const about = (own: object = {}) => ({
  [OFFICIAL]: { status: 'active', isLatest: true, publishedAt: '2025-09-01T00:00:00Z', ...own },
})
const server = (own: object) => ({
  name: 'io.github.jo/weather',
  description: 'Weather',
  version: '1.0.2',
  ...own,
})
const npm = (own: object = {}) => ({
  registryType: 'npm',
  identifier: '@jo/weather-mcp',
  version: '1.0.2',
  transport: { type: 'stdio' },
  ...own,
})

describe('the MCP Registry', () => {
  test('a search requests the newest versions by name, size and cursor', async () => {
    const { base, paths } = await registryWith([])
    const result = await searchMcpRegistry(
      `${base}/sub/`,
      { query: ' git hub ', size: 500, cursor: 'a b' },
      { now: NOW },
    )
    expect(paths).toEqual(['/sub/v0.1/servers?search=git+hub&limit=50&version=latest&cursor=a+b'])
    expect(result).toEqual({ items: [], next_cursor: null })
  })

  test('a search returns the cursor of the next page', async () => {
    const { base } = await registryWith([{ server: server({}), _meta: about() }], {
      nextCursor: 'n:1',
      count: 1,
    })
    expect((await searchMcpRegistry(base, { query: '' }, { now: NOW })).next_cursor).toBe('n:1')
  })

  test('an npm package becomes a body for /api/servers', async () => {
    const item = await only({
      packages: [
        { registryType: 'oci', identifier: 'docker.io/jo/weather' },
        npm({
          registryBaseUrl: `https://registry.${'npmjs'}.org`,
          runtimeArguments: [{ type: 'positional', value: '-y' }],
          packageArguments: [
            { type: 'positional', value: 'serve' },
            { type: 'named', name: '--units', default: 'metric' },
            { type: 'positional', valueHint: 'folder', isRequired: true, description: 'Where to keep it' },
            { type: 'named', name: '--optional' },
          ],
          environmentVariables: [
            { name: 'API_KEY', isRequired: true, isSecret: true, description: 'Your key' },
            { name: 'REGION', value: 'eu' },
            { name: 'JSON', value: '{"a":1}' },
            { name: 'DEBUG' },
            { name: 'TOOLROOM_TOKEN', value: 'x' },
            { name: '__proto__', value: 'x' },
          ],
        }),
      ],
    })
    expect(item).toMatchObject({
      source: 'mcp_registry',
      name: 'io.github.jo/weather',
      version: '1.0.2',
      publisher: 'io.github.jo',
    })
    expect(item.create).toEqual({
      to: '/api/servers',
      body: {
        name: 'weather',
        command: 'npx',
        args: ['-y', '@jo/weather-mcp@1.0.2', 'serve', '--units', 'metric', '<folder>'],
        env: { API_KEY: '', REGION: 'eu', JSON: '{"a":1}' },
      },
      package: { name: '@jo/weather-mcp', version: '1.0.2' },
    })
    expect(item.required_env).toEqual([{ name: 'API_KEY', description: 'Your key', secret: true }])
    expect(item.required_args).toEqual([{ name: 'folder', description: 'Where to keep it', secret: false }])
    expect(Value.Check(ServerInput, item.create?.body)).toBe(true)
  })

  test('a remote becomes a body for /api/http-servers', async () => {
    const item = await only({
      remotes: [
        {
          type: 'streamable-http',
          url: 'https://{region}.weather.example/mcp',
          variables: { region: { default: 'eu' } },
          headers: [
            {
              name: 'Authorization',
              value: 'Bearer {key}',
              variables: { key: { isSecret: true, isRequired: true } },
            },
            { name: 'X-Plan', value: 'free' },
            { name: 'Host', value: 'evil.example' },
          ],
        },
      ],
    })
    expect(item.create).toEqual({
      to: '/api/http-servers',
      body: {
        name: 'weather',
        url: 'https://eu.weather.example/mcp',
        transport: 'streamable_http',
        headers: { Authorization: '', 'X-Plan': 'free' },
      },
    })
    expect(item.required_headers).toEqual([{ name: 'Authorization', description: null, secret: true }])
    expect(Value.Check(HttpServerInput, item.create?.body)).toBe(true)
  })

  test.each<[string, object, RegExp]>([
    [
      'a package of another kind',
      { packages: [{ registryType: 'pypi', identifier: 'weather' }] },
      /type 'pypi'/,
    ],
    [
      'a package of another registry',
      { packages: [npm({ registryBaseUrl: 'https://evil.example' })] },
      /not in the npm registry/,
    ],
    [
      'a package that is a web server',
      { packages: [npm({ transport: { type: 'sse', url: 'http://x' } })] },
      /start it yourself/,
    ],
    ['a hostile name', { packages: [npm({ identifier: '--prefix=/x' })] }, /name or version/],
    ['an alias as a version', { packages: [npm({ version: 'npm:other' })] }, /name or version/],
    ['a range as a version', { packages: [npm({ version: '^1.0.0' })] }, /name or version/],
    [
      'options for npx',
      { packages: [npm({ runtimeArguments: [{ type: 'named', name: '--call', value: 'id' }] })] },
      /options for npx/,
    ],
    [
      'a URL with a placeholder',
      { remotes: [{ type: 'sse', url: 'https://{tenant}.x.example' }] },
      /only you know: tenant/,
    ],
    [
      'a URL with a login',
      { remotes: [{ type: 'sse', url: 'https://a:b@x.example' }] },
      /not valid, or leads to a blocked address/,
    ],
    [
      'a cloud metadata URL',
      { remotes: [{ type: 'sse', url: 'http://169.254.169.254/' }] },
      /not valid, or leads to a blocked address/,
    ],
    ['another transport', { remotes: [{ type: 'smoke', url: 'https://x.example' }] }, /'smoke'/],
    ['nothing', {}, /neither/],
    ['nonsense', { packages: 'x', remotes: [null, 1] }, /neither/],
  ])('an entry with %s is listed without a body, with the reason', async (_, own, reason) => {
    const item = await only(own)
    expect(item.create).toBeNull()
    expect(item.reason).toMatch(reason)
  })

  test('servers that were deleted, are older versions, or have no name are left out', async () => {
    const { base } = await registryWith([
      { server: server({}), _meta: about({ status: 'deleted' }) },
      { server: server({}), _meta: about({ isLatest: false }) },
      { server: {} },
      null,
      { server: server({ name: 'com.acme/mcp' }) },
    ])
    const { items } = await searchMcpRegistry(base, { query: '' }, { now: NOW })
    expect(items.map(({ name }) => name)).toEqual(['com.acme/mcp'])
  })

  test('missing facts are unknown; a deprecation and a similar name are look', async () => {
    const packages = [npm({ identifier: '@playwrlght/mcp' })]
    const { base } = await registryWith([
      {
        server: server({ packages }),
        _meta: about({ status: 'deprecated', statusMessage: 'use the other' }),
      },
    ])
    const { items } = await searchMcpRegistry(base, { query: '' }, { now: NOW })
    const states = Object.fromEntries(items[0]?.trust.map(({ fact, state }) => [fact, state]) ?? [])
    expect(states).toMatchObject({
      near_name: 'look',
      deprecated: 'look',
      install_scripts: 'unknown',
      license: 'unknown',
    })
  })

  test.each([
    ['{"servers":{}}', 200, 'registry_failed'],
    ['<html>', 200, 'registry_failed'],
    ['{}', 503, 'registry_failed'],
    ['{}', 403, 'registry_refused'],
  ])('a registry that responds %s with status %i is %s', async (body, status, code) => {
    const base = await site(() => [status, body])
    await expect(searchMcpRegistry(base, { query: '' }, { now: NOW })).rejects.toMatchObject({ code })
  })
})

async function only(own: object) {
  const { base } = await registryWith([{ server: server(own), _meta: about() }])
  const [item] = (await searchMcpRegistry(base, { query: 'weather' }, { now: NOW })).items
  return item ?? expect.unreachable('the server is not listed')
}

async function registryWith(servers: readonly unknown[], metadata: object = {}) {
  const paths: string[] = []
  const base = await site((path) => {
    paths.push(path)
    return [200, JSON.stringify({ servers, metadata })]
  })
  return { base, paths }
}

async function site(answer: (path: string) => [status: number, body: string]): Promise<string> {
  const http = createServer((request, response) => {
    const [status, body] = answer(request.url ?? '')
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void http.close().closeAllConnections())
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`
}
