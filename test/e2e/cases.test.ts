import { METHODS } from 'node:http'
import { describe, expect, test } from 'vitest'
import { ask, briefly, expectReads, portOf, verdictOn } from '../support/answers.ts'
import { bodyCases } from '../support/body.contract.ts'
import { covers } from '../support/covers.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { houseWithRegistry, install, installed, packages } from '../support/packages.ts'
import { rawAnswer } from '../support/raw-http.ts'
import { BAD_LOG_QUERIES, GOOD_LOG_QUERIES } from '../support/refused-bodies.ts'
import { toolPackage } from '../support/registry/registry.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from '../support/test-service.ts'
import { tokenCases } from '../support/token.contract.ts'
import { add, HTTP_SERVER, openWithServers, SERVER } from '../support/with-servers.ts'

tokenCases()
bodyCases()

const shared = sharedByTests(() => openTestService())
/** For tests that read, are refused, or change what the others do not read. */
const withServers = sharedByTests(() => openWithServers())

describe('paths', () => {
  test('a path works with and without a trailing slash, without a redirect', async () => {
    covers('path-trailing-slash', 'api-prefix', 'versioning-none')
    const service = await withServers()
    for (const path of [
      '/api/servers',
      '/api/servers/github',
      '/api/http-servers',
      '/api/http-servers/docs',
    ]) {
      const [plain, slashed] = [await ask(service, 'GET', path), await ask(service, 'GET', `${path}/`)]
      expect([plain.status, slashed.status]).toEqual([200, 200])
      expect(slashed.body).toBe(plain.body)
    }
    const changed = {
      method: 'PATCH',
      url: '/api/servers/github/',
      headers: AUTHORISED,
      payload: { command: 'node' },
    }
    expect((await service.inject(changed as { method: 'PATCH' })).statusCode).toBe(200)
  })

  test('a server path accepts the id or the exact name, and anything else is not found', async () => {
    covers('resource-stdio-server-id', 'resource-http-server-id', 'servers-get')
    const service = await withServers()
    await add(service, { name: 'My Notes', command: 'node' })
    await expectReads(service, [
      ['an id', '/api/servers/github', 200],
      ['a name', '/api/servers/GitHub', 200],
      ['a name with a space', '/api/servers/My%20Notes', 200],
      ['its id', '/api/servers/my-notes', 200],
      ['another spelling of a name', '/api/servers/GITHUB', 404, 'not_found'],
      ['a server of the other kind', '/api/servers/docs', 404, 'not_found'],
      ['a way out', '/api/servers/..%2f..%2fetc', 404, 'not_found'],
      ['two dots', '/api/servers/..', 404, 'not_found'],
      ['65 letters', `/api/servers/${'a'.repeat(65)}`, 404, 'not_found'],
      ['5,000 letters', `/api/servers/${'a'.repeat(5000)}`, 404, 'not_found'],
      ['a line break', '/api/servers/a%0d%0ab', 404, 'not_found'],
      ['a script', '/api/servers/%3Cscript%3E', 404, 'not_found'],
      ['__proto__', '/api/servers/__proto__', 404, 'not_found'],
      ['nothing between two slashes', '/api/servers//', 404, 'not_found'],
    ])
  })

  test('an agent path accepts the type or an alias, and any other name is not found', async () => {
    covers('resource-agent-type')
    const service = await shared()
    const typeAt = async (path: string) => JSON.parse((await ask(service, 'GET', path)).body).agent_type
    expect(await typeAt('/api/agents/claude-code')).toBe('claude-code')
    expect(await typeAt('/api/agents/windsurf')).toBe('devin-desktop')
    await expectReads(service, [
      ['a display name', '/api/agents/Claude%20Code', 404, 'not_found'],
      ['an unknown type', '/api/agents/unknown-agent', 404, 'not_found'],
      ['__proto__', '/api/agents/__proto__', 404, 'not_found'],
    ])
  })

  test('a package is uninstalled by its id and by its name', async () => {
    covers('resource-package-id-or-name')
    const { service } = await houseWithRegistry([toolPackage('@acme/notes-mcp')])
    for (const form of ['id', 'name'] as const) {
      const report = await install(service, { name: '@acme/notes-mcp' })
      expect(report.id).not.toBe(report.name)
      expect((await packages(service, 'DELETE', `/${report[form]}`)).status, form).toBe(204)
      expect(await installed(service), form).toEqual([])
    }
  })

  test('a malformed path is a bad request, and an unknown path is not found', async () => {
    const service = await shared()
    await expectReads(service, [
      ['no percent-encoding', '/api/servers/%zz', 400, 'bad_request'],
      ['a cut-off percent-encoding', '/api/servers/%2', 400, 'bad_request'],
      ['invalid UTF-8', '/api/servers/%ff', 400, 'bad_request'],
      ['NUL', '/api/servers/%00', 400, 'bad_request'],
      ['NUL further in', '/api/servers/a%00b/', 400, 'bad_request'],
      ['9 KB', `/api/servers/${'a'.repeat(9000)}`, 414, 'url_too_long'],
      ['9 KB of query', `/api/logs?search=${'a'.repeat(9000)}`, 414, 'url_too_long'],
      ['an unknown path', '/api/nowhere', 404, 'not_found'],
      ['the prefix alone', '/api', 404, 'not_found'],
      ['capitals', '/API/servers', 404, 'not_found'],
      ['a version', '/api/v1/servers', 404, 'not_found'],
      ['an empty segment', '/api//servers', 404, 'not_found'],
      ['a file outside the folder', '/docs/assets/..%2fpackage.json', 404, 'not_found'],
      ['another file of the package', '/docs/assets/index.html', 404, 'not_found'],
      ['an unknown error code', '/docs/errors/constructor', 404, 'not_found'],
      ['an unknown query parameter', '/api/servers?limit=1', 422, 'invalid_input', '/limit'],
      ['the same on health', '/api/health?verbose', 422, 'invalid_input', '/verbose'],
    ])
  })

  test('an unsupported method gets 405 with the supported methods in Allow', async () => {
    const service = await shared()
    const known: Record<string, string> = {
      '/api/servers': 'GET, HEAD, POST',
      '/api/servers/x': 'DELETE, GET, HEAD, PATCH',
      '/api/http-servers/': 'GET, HEAD, POST',
      '/api/http-servers/x/': 'DELETE, GET, HEAD, PUT',
      '/api/logs': 'DELETE, GET, HEAD',
      '/api/logs/download': 'GET, HEAD',
      '/api/health': 'GET, HEAD',
      '/docs': 'GET, HEAD',
    }
    const methods = METHODS.filter((method) => method !== 'CONNECT') // opens a tunnel, which Node handles itself
    for (const [path, allow] of Object.entries(known)) {
      for (const method of methods.filter((each) => !allow.split(', ').includes(each))) {
        const answer = await ask(service, method, path)
        expect
          .soft(briefly(answer.status, answer.body, 2), `${method} ${path}`)
          .toEqual([405, 'method_not_allowed'])
        expect.soft(answer.header('allow'), `${method} ${path}`).toBe(allow)
      }
    }
  })

  test('HEAD returns the same headers as GET, without the body', async () => {
    const service = await withServers()
    for (const path of [
      '/api/servers',
      '/api/servers/github',
      '/api/health',
      '/docs',
      '/api/servers/missing',
    ]) {
      const [get, head] = [await ask(service, 'GET', path), await ask(service, 'HEAD', path)]
      expect([head.status, head.header('content-type'), head.body]).toEqual([
        get.status,
        get.header('content-type'),
        '',
      ])
    }
  })

  test.each([
    [
      'a header of 17 KB',
      'GET /api/health HTTP/1.1\r\nHost: HERE\r\nX: LONG\r\n\r\n',
      431,
      'headers_too_large',
    ],
    [
      'a header without a colon',
      'GET /api/health HTTP/1.1\r\nHost: HERE\r\nnonsense\r\n\r\n',
      400,
      'bad_request',
    ],
    ['no HTTP at all', 'HELLO\r\n\r\n', 400, 'bad_request'],
    ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00', 400, 'bad_request'],
    [
      'two lengths',
      'POST /api/logs HTTP/1.1\r\nHost: HERE\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab',
      400,
      'bad_request',
    ],
    [
      'a content length and chunks',
      'POST /api/logs HTTP/1.1\r\nHost: HERE\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
      'bad_request',
    ],
  ])('a malformed HTTP request is refused before routing: %s', async (_, text, status, code) => {
    const service = await shared()
    const bytes = text.replace('HERE', `127.0.0.1:${portOf(service)}`).replace('LONG', 'x'.repeat(17_000))
    const answer = await rawAnswer({ port: portOf(service) }, bytes)
    expect(briefly(answer.status, answer.body, 2)).toEqual([status, code])
    expect(answer.header('content-type')).toBe('application/problem+json')
    expect(answer.header('cache-control')).toBe('no-store')
  })
})

describe('the order of checks', () => {
  test('the checks of a request run in a fixed order: fixing the first error reveals the next', async () => {
    const service = await withServers()
    const sent = { method: 'OPTIONS', path: '/api/nowhere', body: 'x'.repeat(2_000_000) }
    const headers: Record<string, string> = {
      Host: 'evil.com',
      Origin: 'https://evil.com',
      'Sec-Fetch-Site': 'cross-site',
      'Content-Type': 'text/plain',
    }
    const ladder: [mend: () => unknown, status: number, code: string][] = [
      [() => {}, 403, 'host_not_allowed'],
      [() => delete headers.Host, 403, 'origin_not_allowed'],
      [() => delete headers.Origin, 403, 'cross_site'],
      [() => delete headers['Sec-Fetch-Site'], 404, 'not_found'],
      [() => Object.assign(sent, { path: '/api/servers/missing' }), 405, 'method_not_allowed'],
      [() => Object.assign(sent, { method: 'PATCH' }), 401, 'missing_token'],
      [() => Object.assign(headers, { 'X-SVC-Token': 'wrong' }), 401, 'invalid_token'],
      [() => Object.assign(headers, { 'X-SVC-Token': TOKEN }), 415, 'unsupported_media_type'],
      [() => Object.assign(headers, { 'Content-Type': 'application/json' }), 413, 'body_too_large'],
      [() => Object.assign(sent, { body: '{"name":1,' }), 400, 'invalid_json'],
      [() => Object.assign(sent, { body: '{"name":1}' }), 422, 'invalid_input'],
      [() => Object.assign(sent, { body: '{"name":"Docs"}' }), 404, 'not_found'],
      [() => Object.assign(sent, { path: '/api/servers/github' }), 409, 'server_exists'],
    ]
    for (const [mend, status, code] of ladder) {
      mend()
      const answer = await ask(service, sent.method, sent.path, headers, sent.body)
      expect
        .soft(briefly(answer.status, answer.body, 2), `${sent.method} ${sent.path}`)
        .toEqual([status, code])
    }
  })

  test.each([
    ['malformed JSON', { 'Content-Type': 'application/json' }, '{'],
    ['2 MB', { 'Content-Type': 'application/json' }, 'x'.repeat(2_000_000)],
    ['text', { 'Content-Type': 'text/plain' }, 'x'],
    ['a Content-Encoding', { 'Content-Type': 'application/json', 'Content-Encoding': 'gzip' }, 'x'],
    ['another charset', { 'Content-Type': 'application/json; charset=utf-16' }, 'x'],
  ])('path and method are checked before the body: %s', async (_, headers, body) => {
    const service = await shared()
    const [unknown, wrong] = [
      await ask(service, 'POST', '/api/nowhere', headers, body),
      await ask(service, 'POST', '/api/health', headers, body),
    ]
    expect.soft(briefly(unknown.status, unknown.body, 2)).toEqual([404, 'not_found'])
    expect.soft(briefly(wrong.status, wrong.body, 2)).toEqual([405, 'method_not_allowed'])
    expect.soft(wrong.header('allow')).toBe('GET, HEAD')
  })
})

describe('servers and logs', () => {
  const audited = async (service: TestService, action: string) =>
    (await service.inject('/api/logs?source=audit&order=asc&limit=1000'))
      .json()
      .items.filter(({ data }: { data: { action: string } }) => data.action === action)

  test('an invalid log filter is refused with its name', async () => {
    covers('open-log-filters', 'logs-get')
    const service = await shared()
    await expectReads(service, [...BAD_LOG_QUERIES, ...GOOD_LOG_QUERIES])
    const clear = { method: 'DELETE', headers: AUTHORISED } as const
    for (const query of ['limit=1', 'order=asc', 'cursor=1', 'format=csv', 'level=loud', 'since=1m&until=2m'])
      expect(await verdictOn(service, { ...clear, url: `/api/logs?${query}` })).toEqual([
        422,
        'invalid_input',
      ])
    expect(await verdictOn(service, { url: '/api/logs/download?format=xml' })).toEqual([422, 'invalid_input'])
  })

  test('a changed command is audited with the old and the new value', async () => {
    const service = await openWithServers()
    const snippet = { mcpServers: { github: { command: 'node', args: ['main.js'] } }, on_conflict: 'update' }
    const patch = {
      method: 'PATCH',
      url: '/api/servers/github',
      headers: AUTHORISED,
      payload: { command: 'deno' },
    }
    expect((await service.inject(patch as { method: 'PATCH' })).json()).toMatchObject({
      command: 'deno',
      revision: 2,
    })
    expect((await add(service, snippet, '/api/servers/import')).json().items).toMatchObject([
      { outcome: 'updated' },
    ])
    expect(await audited(service, 'server_updated')).toMatchObject([
      { data: { subject: 'github', changed: { command: { before: 'npx', after: 'deno' } } } },
      { data: { subject: 'github', changed: { command: { before: 'deno', after: 'node' } } } },
    ])
  })

  test('a name or an id is unique across both kinds of server', async () => {
    const service = await withServers()
    const taken = [409, 'server_exists']
    const post = { method: 'POST', headers: AUTHORISED } as const
    for (const name of ['GitHub', 'github', 'GITHUB', 'Docs', 'docs']) {
      expect(
        await verdictOn(service, { ...post, url: '/api/servers', payload: { ...SERVER, name } }),
      ).toEqual(taken)
      const payload = { ...HTTP_SERVER, name }
      expect(await verdictOn(service, { ...post, url: '/api/http-servers', payload })).toEqual(taken)
    }
  })

  test('the 501st server is refused until another one is deleted', async () => {
    const service = await openTestService()
    const names = Array.from({ length: 500 }, (_, index) => [`s${index}`, { command: 'node' }])
    const report = (
      await add(service, { mcpServers: Object.fromEntries(names) }, '/api/servers/import')
    ).json()
    expect(report.items.filter(({ outcome }: { outcome: string }) => outcome !== 'created')).toEqual([])
    const full = await add(service, HTTP_SERVER, '/api/http-servers')
    expect(briefly(full.statusCode, full.body, 2)).toEqual([409, 'limit_reached'])
    await service.inject({ method: 'DELETE', url: '/api/servers/s0', headers: AUTHORISED })
    expect((await add(service, HTTP_SERVER, '/api/http-servers')).statusCode).toBe(201)
  })

  test('a download completes correctly when the log is cleared during it', async () => {
    const service = await openTestService()
    for (let count = 0; count < 3000; count += 1)
      service.log.info({ count, filler: 'x'.repeat(500) }, 'a line')
    const { items } = (await service.inject('/api/logs?limit=1')).json()
    const body = (await fetch(`${service.address}/api/logs/download`)).body?.getReader()
    const first = await body?.read()
    const cleared = await service.inject({ method: 'DELETE', url: '/api/logs', headers: AUTHORISED })
    expect(cleared.json().deleted).toBeGreaterThan(2999)
    service.log.info('a line that came later')
    let text = Buffer.from(first?.value ?? []).toString()
    for (let part = await body?.read(); part?.value; part = await body?.read())
      text += Buffer.from(part.value).toString()
    const ids = text
      .trimEnd()
      .split('\n')
      .map((line): number => JSON.parse(line).id)
    expect(ids).toEqual([...new Set(ids)].toSorted((a, b) => a - b))
    expect(ids.at(-1)).toBeLessThanOrEqual(items[0].id)
  })

  test('logs can be cleared twice and downloaded as a file, and the audit trail is kept', async () => {
    covers('logs-clear', 'logs-download', 'does-logs', 'resource-log-entries')
    const service = await openWithServers()
    const clear = () => service.inject({ method: 'DELETE', url: '/api/logs/', headers: AUTHORISED })
    const [download, ...clears] = await Promise.all([service.inject('/api/logs/download'), clear(), clear()])
    expect(clears.map(({ statusCode }) => statusCode)).toEqual([200, 200])
    expect(clears[0]?.json()).toEqual({ deleted: expect.any(Number) })
    expect(download.headers['content-disposition']).toMatch(
      /^attachment; filename="toolroom-logs-[\dT-]+\.ndjson"$/,
    )
    expect(download.headers['x-content-type-options']).toBe('nosniff')
    expect(await audited(service, 'server_added')).toHaveLength(2)
  })
})
