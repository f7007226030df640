import { describe, expect, test } from 'vitest'
import { covers } from '../../../test/support/covers.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import {
  AUTHORISED as headers,
  openTestService,
  type TestService,
} from '../../../test/support/test-service.ts'
import type { ServerView } from './servers.schema.ts'

const url = '/api/servers'
const github = {
  name: 'Git Hub',
  command: 'npx',
  args: ['-y', '@modelcontextprotocol/server-github', '--token', 'arg-secret'],
  env: { GITHUB_TOKEN: 'env-secret' },
  cwd: '/home/me',
  description: 'issues and pull requests',
  tags: ['work'],
}

async function added(service: TestService, body: object = github): Promise<ServerView> {
  const reply = await service.inject({ method: 'POST', url, headers, body })
  expect(reply.statusCode, reply.body).toBe(201)
  return reply.json()
}

test('an added server is listed with masked secrets, with and without a trailing slash', async () => {
  covers(
    'does-two-kinds',
    'does-list-add-get-delete',
    'servers-list',
    'servers-add',
    'path-trailing-slash',
    'public-servers-list',
  )
  const service = await openTestService()
  const server = await added(service)
  for (const path of [url, `${url}/`]) {
    const listed = await service.inject(path)
    expect(listed.statusCode).toBe(200)
    expect(listed.json()).toEqual({ items: [server], total: 1, next_cursor: null })
    expect(listed.body).not.toContain('secret')
  }
  expect(server).toMatchObject({
    id: 'git-hub',
    type: 'stdio',
    name: 'Git Hub',
    args: ['-y', '@modelcontextprotocol/server-github', '--token', '***'],
    env: { GITHUB_TOKEN: '***' },
    cwd: '/home/me',
    tags: ['work'],
    revision: 1,
  })
})

test('adding a server answers 201 with its location', async () => {
  covers('open-success-statuses')
  const service = await openTestService()
  const reply = await service.inject({
    method: 'POST',
    url: `${url}/`,
    headers,
    body: { name: 'a', command: 'b' },
  })
  expect(reply.statusCode).toBe(201)
  expect(reply.headers.location).toBe('/api/servers/a')
  expect((await service.inject(reply.headers.location ?? '')).json()).toEqual(reply.json())
})

test('a server is found by id and by exact name, and any other key is answered with 404', async () => {
  covers('resource-stdio-server-id', 'servers-get', 'public-servers-get')
  const service = await openTestService()
  const server = await added(service)
  expect((await service.inject(`${url}/git-hub`)).json()).toEqual(server)
  expect((await service.inject(`${url}/Git%20Hub/`)).json()).toEqual(server)
  for (const key of ['git%20hub', 'GIT-HUB', 'x'.repeat(65), '..%2f..%2fetc', '%F0%9F%98%80', '__proto__']) {
    const reply = await service.inject(`${url}/${key}`)
    expect(reply.json(), key).toMatchObject({ status: 404, code: 'not_found' })
  }
})

test('deleting a server answers 204, and the server is no longer listed', async () => {
  covers('servers-delete')
  const service = await openTestService()
  await added(service)
  const remove = () => service.inject({ method: 'DELETE', url: `${url}/git-hub`, headers })
  expect(await remove()).toMatchObject({ statusCode: 204, body: '' })
  expect((await remove()).json()).toMatchObject({ status: 404 })
  expect((await service.inject(url)).json().total).toBe(0)
})

test('a name or id that is in use by a server of either kind is refused', async () => {
  const service = await openTestService()
  await added(service)
  const add = (path: string, body: object) => service.inject({ method: 'POST', url: path, headers, body })
  for (const reply of [
    await add(url, github),
    await add(url, { name: 'git hub', command: 'x' }),
    await add('/api/http-servers', { name: 'Git-Hub', url: 'https://a.example' }),
  ]) {
    expect(reply.json()).toMatchObject({ status: 409, code: 'server_exists' })
  }
})

test('the 501st server is refused', async () => {
  const service = await openTestService()
  for (let n = 0; n < 500; n += 1) await added(service, { name: `s${n}`, command: 'x' })
  const reply = await service.inject({ method: 'POST', url, headers, body: { name: 'more', command: 'x' } })
  expect(reply.json()).toMatchObject({ status: 409, code: 'limit_reached' })
})

describe('update', () => {
  const patch = (service: TestService, body: object, more = {}) =>
    service.inject({ method: 'PATCH', url: `${url}/git-hub`, headers: { ...headers, ...more }, body })

  test('an update keeps omitted fields, and the id when the name changes', async () => {
    const service = await openTestService()
    const server = await added(service)
    const reply = await patch(service, { name: 'Hub', cwd: null })
    const { health, last_error, updated_at } = reply.json() // its folder did not exist
    expect(reply.json()).toEqual({
      ...server,
      name: 'Hub',
      cwd: null,
      revision: 2,
      health,
      last_error,
      updated_at,
    })
    expect((await service.inject(`${url}/Hub`)).json().id).toBe('git-hub')
  })

  test('an update with *** keeps the stored secret, also after a restart', async () => {
    const service = await openTestService()
    await added(service)
    const reply = await patch(service, {
      env: { GITHUB_TOKEN: '***', MORE: 'x' },
      args: ['-y', 'pkg', '--token', '***'],
    })
    expect(reply.statusCode, reply.body).toBe(200)
    const again = await patch(service, { args: ['--token', '***'] })
    expect(again.json()).toMatchObject({ status: 422, errors: [{ path: '/args/1' }] })
    expect((await patch(service, { env: { NEW: '***' } })).json()).toMatchObject({
      status: 422,
      errors: [{ path: '/env/NEW' }],
    })
    await service.close()
    const next = await openTestService({ home: service.home })
    expect((await next.inject(`${url}/git-hub`)).json()).toEqual(reply.json())
  })

  test('an update is refused for an old revision, and accepted for the newest or without one', async () => {
    const service = await openTestService()
    await added(service)
    expect((await patch(service, { cwd: null }, { 'if-match': '"1"' })).headers.etag).toBe('"2"')
    expect((await patch(service, { cwd: '/x' }, { 'if-match': '"1"' })).json()).toMatchObject({
      status: 412,
      code: 'revision_mismatch',
    })
    expect((await patch(service, { cwd: '/x' }, { 'if-match': 'nonsense' })).json()).toMatchObject({
      status: 412,
    })
    expect((await patch(service, { cwd: '/x' })).json()).toMatchObject({ cwd: '/x', revision: 3 })
  })

  test('an update with equal values changes nothing', async () => {
    const service = await openTestService()
    const server = await added(service)
    expect((await patch(service, { command: 'npx' })).json()).toEqual(server)
  })

  test('an update is audited with its difference and without secrets', async () => {
    const service = await openTestService()
    await added(service)
    await patch(service, { command: 'node', env: { GITHUB_TOKEN: 'new-secret' } })
    const audit = await service.inject('/api/logs?source=audit')
    const [line] = audit.json().items
    expect(line).toMatchObject({ message: 'server updated: git-hub', level: 'info' })
    expect(line.request_id).toMatch(/^req_/)
    expect(line.data.changed).toEqual({
      command: { before: 'npx', after: 'node' },
      env: { before: { GITHUB_TOKEN: '***' }, after: { GITHUB_TOKEN: '***' } },
    })
    expect(audit.body).not.toContain('secret"')
  })

  test('concurrent updates are applied one after the other, and the revision counts each', async () => {
    const service = await openTestService()
    await added(service)
    await Promise.all(Array.from({ length: 20 }, (_, n) => patch(service, { description: `n${n}` })))
    expect((await service.inject(`${url}/git-hub`)).json().revision).toBe(21)
  })
})

describe('import', () => {
  const run = async (service: TestService, body: object) => {
    const reply = await service.inject({ method: 'POST', url: `${url}/import`, headers, body })
    return reply.json()
  }
  const mcpServers = {
    github: { command: 'npx', args: ['-y', 'pkg'], env: { TOKEN: 'abc' } },
    docs: { url: 'https://a.example/mcp' },
  }

  test('an import registers servers of both kinds without starting them', async () => {
    const service = await openTestService()
    expect(await run(service, { mcpServers })).toMatchObject({
      total: 2,
      items: [
        { name: 'github', type: 'stdio', outcome: 'created', id: 'github' },
        { name: 'docs', type: 'http', outcome: 'created', id: 'docs' },
      ],
    })
    expect((await service.inject('/api/http-servers')).json().total).toBe(1)
    expect(await run(service, { snippet: JSON.stringify({ mcpServers }) })).toMatchObject({
      items: [{ outcome: 'unchanged' }, { outcome: 'unchanged' }],
    })
  })

  test('an import reads TOML, and a dry run reports the outcome without changes', async () => {
    const service = await openTestService()
    const snippet = '[mcp_servers.git]\ncommand = "uvx"\nargs = ["mcp-server-git"]\n'
    expect(await run(service, { snippet, dry_run: true })).toMatchObject({
      dry_run: true,
      items: [{ name: 'git', outcome: 'created', id: null }],
    })
    expect((await service.inject(url)).json().total).toBe(0)
  })

  test('an import changes a registered server only with on_conflict update, and audits the difference', async () => {
    const service = await openTestService()
    await run(service, { mcpServers })
    const swapped = { github: { command: 'evil', args: [] } }
    expect(await run(service, { servers: swapped })).toMatchObject({
      items: [{ outcome: 'exists', id: 'github' }],
    })
    expect((await service.inject(`${url}/github`)).json().command).toBe('npx')
    expect(await run(service, { servers: swapped, on_conflict: 'update' })).toMatchObject({
      items: [{ outcome: 'updated' }],
    })
    const [line] = (await service.inject('/api/logs?source=audit&limit=1')).json().items
    expect(line.data.changed.command).toEqual({ before: 'npx', after: 'evil' })
  })

  test('a dry run reports a conflict of ids like the import itself', async () => {
    const service = await openTestService()
    await added(service, { name: 'github', command: 'a', cwd: '/x' })
    const snippet = { mcpServers: { GitHub: { command: 'b' } } }
    const exists = { items: [{ outcome: 'exists', id: 'github' }] }
    expect(await run(service, { ...snippet, dry_run: true })).toMatchObject(exists)
    expect(await run(service, snippet)).toMatchObject(exists)
    await run(service, { ...snippet, on_conflict: 'update' })
    expect(await run(service, { ...snippet, on_conflict: 'update' })).toMatchObject({
      items: [{ outcome: 'unchanged' }],
    })
  })

  test('an import refuses invalid entries and registers the others', async () => {
    const service = await openTestService()
    const servers = {
      good: { command: 'x' },
      bad: { command: 'x', env: { TOOLROOM_HOME: '/x' } },
      worse: { url: 'ftp://x' },
    }
    const { items } = await run(service, { mcpServers: servers })
    expect(
      items.map(({ name, outcome }: { name: string; outcome: string }) => `${name} ${outcome}`).sort(),
    ).toEqual(['bad refused', 'good created', 'worse refused'])
  })

  const empty = sharedByTests(() => openTestService())

  test.each([
    [{ snippet: 'hello' }, 'No server was found'],
    [{ snippet: '{"mcpServers": {' }, ''],
    [{ dry_run: true }, 'Send exactly one of'],
    [{ snippet: '{}', servers: {} }, 'Send exactly one of'],
  ])('the import of %j is refused', async (body, sentence) => {
    const service = await empty()
    const reply = await run(service, body)
    expect(reply).toMatchObject({ status: 422, code: 'invalid_input' })
    expect(reply.detail).toContain(sentence)
  })
})
