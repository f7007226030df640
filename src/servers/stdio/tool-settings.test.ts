import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { get, post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { HTTP_SERVER, SERVER } from '../../../test/support/with-servers.ts'
import { SecretKey } from '../../kernel/config/secret-key.ts'
import { FactBus } from '../../kernel/fact-bus.ts'
import { ConfigurationDatabase } from '../../store/configuration/configuration.ts'
import { openVault } from '../../store/open-vault.ts'
import { ServerTable } from '../../store/servers.store.ts'

type Method = 'POST' | 'PATCH' | 'PUT'

const send = (service: TestService, method: Method, url: string, payload: object) =>
  service.inject({ method, url, headers: AUTHORISED, payload })

describe.each([
  { kind: 'STDIO', url: '/api/servers', id: 'github', server: SERVER, verb: 'PATCH' as const },
  { kind: 'HTTP', url: '/api/http-servers', id: 'docs', server: HTTP_SERVER, verb: 'PUT' as const },
])('$kind server', ({ url, id, server, verb }) => {
  test('a server offers all its tools by default, and shows changed settings', async () => {
    const service = await openTestService()
    const added = await send(service, 'POST', url, server)
    expect(added.json()).toMatchObject({ tools: {}, expose: true })
    const tools = { read: { enabled: false }, write: { alias: 'put' }, toString: {} }
    const changed = await send(service, verb, `${url}/${id}`, { tools, expose: false })
    expect(changed.json()).toMatchObject({
      expose: false,
      revision: 2,
      tools: {
        read: { enabled: false, alias: null },
        write: { enabled: true, alias: 'put' },
        toString: { enabled: true, alias: null },
      },
    })
    expect((await service.inject(`${url}/${id}`)).json()).toEqual(changed.json())
    const sentBack = await send(service, verb, `${url}/${id}`, { tools: changed.json().tools })
    expect(sentBack.json().revision).toBe(2)
  })

  test('tool settings are accepted on creation, and a new map replaces the stored one', async () => {
    const service = await openTestService()
    const more = { tools: { read: { alias: 'look' } }, expose: false }
    const added = await send(service, 'POST', url, { ...server, ...more })
    expect(added.json()).toMatchObject({ tools: { read: { alias: 'look' } }, expose: false })
    const changed = await send(service, verb, `${url}/${id}`, { tools: { write: { enabled: false } } })
    expect(changed.json()).toMatchObject({ expose: false })
    expect(Object.keys(changed.json().tools)).toEqual(['write'])
    expect((await send(service, verb, `${url}/${id}`, { tools: {} })).json().tools).toEqual({})
  })

  const withServer = sharedByTests(async () => {
    const service = await openTestService()
    expect((await send(service, 'POST', url, server)).statusCode).toBe(201)
    return service
  })

  test.each<[string, object, string]>([
    ['one alias for two tools', { tools: { a: { alias: 'x' }, b: { alias: 'x' } } }, '/tools/b/alias'],
    ['an empty alias', { tools: { a: { alias: '' } } }, '/tools/a/alias'],
    ['an alias with a dot', { tools: { a: { alias: 'a.b' } } }, '/tools/a/alias'],
    ['an alias of 65 characters', { tools: { a: { alias: 'x'.repeat(65) } } }, '/tools/a/alias'],
    ['a tool without a name', { tools: { '': {} } }, '/tools/'],
    [
      'a tool with a name of 257 characters',
      { tools: { ['x'.repeat(257)]: {} } },
      `/tools/${'x'.repeat(64)}`,
    ],
    ['an unknown field', { tools: { a: { enable: true } } }, '/tools/a/enable'],
    ['a string for enabled', { tools: { a: { enabled: 'yes' } } }, '/tools/a/enabled'],
    ['an array for tools', { tools: [] }, '/tools'],
    ['null for expose', { expose: null }, '/expose'],
    [
      '5,001 tools',
      { tools: Object.fromEntries(Array.from({ length: 5001 }, (_, at) => [`t${at}`, {}])) },
      '/tools',
    ],
  ])('%s is refused on creation and on update', async (_, fields, path) => {
    const service = await withServer()
    const refused = { status: 422, code: 'invalid_input', errors: [{ path }] }
    const other = { ...server, name: 'another' }
    expect((await send(service, 'POST', url, { ...other, ...fields })).json()).toMatchObject(refused)
    expect((await send(service, verb, `${url}/${id}`, fields)).json()).toMatchObject(refused)
  })

  test('settings of 5,000 tools and names of 256 characters are accepted', async () => {
    const service = await openTestService()
    const names = Array.from({ length: 4999 }, (_, at) => `t${at}`)
    const tools = Object.fromEntries([...names, 'ü'.repeat(256)].map((name) => [name, { enabled: false }]))
    const added = await send(service, 'POST', url, { ...server, tools })
    expect(Object.keys(added.json().tools)).toHaveLength(5000)
  })
})

test('a change of the tool settings does not restart a running server', async () => {
  const service = await openTestService()
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  const { pid } = await get(service, 'echo')
  await send(service, 'PATCH', '/api/servers/echo', { tools: { pid: { enabled: false } }, expose: false })
  expect(await get(service, 'echo')).toMatchObject({ pid, status: 'running', restart_count: 0 })
})

test('the API calls tools by their own names, even when they are disabled or renamed for agents', async () => {
  const service = await openTestService()
  await register(service, 'echo', [], { tools: { pid: { enabled: false, alias: 'number' } }, expose: false })
  await post(service, '/api/servers/echo/start')
  expect((await post(service, '/api/servers/echo/tools/pid/call', {})).statusCode).toBe(200)
  expect((await post(service, '/api/servers/echo/tools/number/call', {})).statusCode).toBe(404)
})

test('a server that was stored by an older version offers all its tools, and goes on getting what it refers to', async () => {
  const home = ownFolder()
  const env = { TOOLROOM_SECRET_KEY: '0a'.repeat(32) }
  await (await openTestService({ home, env })).close()
  const facts = new FactBus(() => {})
  const database = await ConfigurationDatabase.open({ folder: join(home, 'data'), facts })
  const vault = await openVault(database, new SecretKey(home, env.TOOLROOM_SECRET_KEY))
  const table = await ServerTable.open(database, vault, 10)
  const times = { created_at: 1, updated_at: 1, revision: 1 }
  const audit = { action: 'server_added', subject: 'old', request_id: null, detail: {} }
  const before = {
    stdio: { command: 'npx', args: [], env: {}, cwd: null, description: null },
    http: { url: HTTP_SERVER.url, transport: 'auto', headers: { X: `$\{env:OLD_KEY}` } },
  }
  for (const kind of ['stdio', 'http'] as const) {
    const old = { id: kind, name: kind, ...before[kind], tags: [], ...times } as never
    expect(await table.of(kind).insert(old, audit)).toBe('inserted')
  }
  await database.close()
  const service = await openTestService({ home, env })
  for (const url of ['/api/servers/stdio', '/api/http-servers/http'])
    expect((await service.inject(url)).json()).toMatchObject({ tools: {}, expose: true })
  const { outgoing } = (await service.inject('/api/http-servers/http')).json()
  expect(outgoing).toMatchObject([{ reference: `$\{env:OLD_KEY}`, to: 'header X', allowed: true }])
})
