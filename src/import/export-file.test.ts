import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { post, register } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../test/support/test-service.ts'
import { openSqlite } from '../store/sqlite/sqlite.ts'
import type { FileImportReport as ImportReport } from './file-import.schema.ts'
import type { ExportFile } from './read/export-file/export-file.schema.ts'

const PASSPHRASE = 'correct horse battery staple'
const SECRET = 'a-secret-of-this-test'

/** Servers of both kinds with secrets in every place, and a choice of tools for an agent. */
async function serviceWithServers(): Promise<TestService> {
  const service = await openTestService()
  await register(service, 'echo', ['--token', SECRET], {
    name: 'Echo One',
    env: { KEY: SECRET, PLAIN: 'debug' },
    tags: ['work'],
    description: 'An echo',
    start_mode: 'eager',
    restart: { policy: 'always', max_delay_s: 9 },
    tools: { echo: { enabled: false, alias: 'say' } },
    expose: false,
  })
  await register(service, 'echo', [], { name: 'plain', env: { KEY: SECRET } })
  const http = { name: 'Docs', url: `https://docs.example/mcp?key=${SECRET}`, headers: { 'X-Key': SECRET } }
  expect((await post(service, '/api/http-servers', { ...http, enabled: false })).statusCode).toBe(201)
  const choice = { servers: ['echo-one'], tools: { 'echo-one': ['pid'] } }
  for (const [url, payload] of [
    ['/api/agents/cursor/tools', choice],
    ['/api/presets/work', choice],
    ['/api/secrets/SHARED', { value: SECRET }],
  ] as const)
    expect((await service.inject({ method: 'PUT', url, headers: AUTHORISED, payload })).statusCode).toBe(200)
  return service
}

async function exported(service: TestService, secrets: boolean): Promise<ExportFile> {
  const headers = { ...AUTHORISED, ...(secrets && { 'x-export-passphrase': PASSPHRASE }) }
  const reply = await service.inject({ url: `/api/export${secrets ? '?include_secrets=true' : ''}`, headers })
  expect(reply.statusCode, reply.body).toBe(200)
  expect(reply.headers['content-disposition']).toMatch(
    /^attachment; filename="toolroom-\d{4}-\d\d-\d\d\.json"$/,
  )
  expect(reply.body).not.toContain(SECRET)
  return reply.json()
}

const imported = async (service: TestService, payload: object): Promise<ImportReport> => {
  const reply = await post(service, '/api/import', payload)
  expect(reply.statusCode, reply.body).toBe(200)
  return reply.json()
}

/** Everything that was set up, secrets included. */
async function content(service: TestService) {
  const { servers, agents, presets, named_secrets } = await exported(service, false)
  const [open] = [await service.servers.list()]
  return { servers, agents, presets, named_secrets, full: open.map(({ args, env }) => ({ args, env })) }
}

test('an export with secrets, imported elsewhere, gives the same servers, settings, secrets and choices of tools', async () => {
  const service = await serviceWithServers()
  const file = await exported(service, true)
  const other = await openTestService()
  const dry = await imported(other, { file, passphrase: PASSPHRASE, dry_run: true })
  expect((await content(other)).servers).toEqual([])
  const report = await imported(other, { file, passphrase: PASSPHRASE })
  expect(report).toEqual({
    dry_run: false,
    total: 3,
    items: ['echo-one', 'plain', 'docs'].map((id) =>
      expect.objectContaining({ id, outcome: 'created', notes: [] }),
    ),
    secrets: [{ name: 'SHARED', id: 'SHARED', outcome: 'created', reason: null, notes: [] }],
    agents: [{ name: 'cursor', id: null, outcome: 'created', reason: null, notes: [] }],
    presets: [{ name: 'work', id: null, outcome: 'created', reason: null, notes: [] }],
  })
  expect(dry.items.map(({ outcome }) => outcome)).toEqual(report.items.map(({ outcome }) => outcome))
  expect(await content(other)).toEqual(await content(service))
  const again = await imported(other, { file, passphrase: PASSPHRASE, on_conflict: 'update' })
  const all = [again.items, again.secrets, again.agents, again.presets].flat()
  expect(all.map(({ outcome }) => outcome)).toEqual(Array(6).fill('unchanged'))
})

test('a wrong passphrase, a changed file and an invalid entry are 422, and nothing is imported', async () => {
  const service = await serviceWithServers()
  const file = await exported(service, true)
  const other = await openTestService()
  const [first] = file.servers
  const changed = { ...file, servers: [{ ...first, definition: { ...first?.definition, command: 'evil' } }] }
  const invalid = {
    ...file,
    servers: [...file.servers, { id: 'x', type: 'stdio', definition: { nam: 'x' } }],
  }
  const twice = { ...file, secrets: null, servers: [first, first] }
  for (const [payload, code, path] of [
    [{ file, passphrase: 'wrong horse battery staple' }, 'wrong_passphrase', undefined],
    [{ file: changed, passphrase: PASSPHRASE }, 'wrong_passphrase', undefined],
    [{ file }, 'invalid_input', '/passphrase'],
    [{ file: { ...invalid, secrets: null } }, 'invalid_input', '/file/servers/3/definition'],
    [{ file: twice }, 'invalid_input', '/file/servers/1/definition'],
    [
      {
        file: {
          ...file,
          secrets: null,
          agents: [{ agent_type: 'zed', linked_servers: [], tools: { x: 1 } }],
        },
      },
      'invalid_input',
      '/file/agents/0/tools',
    ],
    [{ file: { ...file, version: 2 } }, 'invalid_input', '/file/version'],
    [
      { file: { ...file, secrets: { ...file.secrets, n: 2 ** 30 } }, passphrase: PASSPHRASE },
      'invalid_input',
      '/file/secrets',
    ],
  ] as const) {
    const reply = await post(other, '/api/import', payload)
    expect(reply.json(), JSON.stringify(path)).toMatchObject({ status: 422, code })
    if (path) expect(reply.json().errors[0].path).toContain(path)
    expect(reply.body).not.toContain(SECRET)
  }
  expect((await content(other)).servers).toEqual([])
})

test('without secrets, new servers are created without them and say so, arguments with a secret are refused, and existing servers keep theirs', async () => {
  const service = await serviceWithServers()
  const file = await exported(service, false)
  const other = await openTestService()
  expect((await imported(other, { file })).items).toMatchObject([
    {
      name: 'Echo One',
      outcome: 'refused',
      id: null,
      reason: expect.stringContaining('args contains a secret'),
    },
    { name: 'plain', outcome: 'created', notes: [expect.stringContaining('KEY')] },
    { name: 'Docs', outcome: 'refused', reason: expect.stringContaining('url') },
  ])
  const { full } = await content(service)
  expect((await imported(service, { file })).items.map(({ outcome }) => outcome)).toEqual(
    Array(3).fill('unchanged'),
  )
  const edited = structuredClone(file)
  for (const { definition } of edited.servers) definition.tags = ['moved']
  expect((await imported(service, { file: edited })).items.map(({ outcome }) => outcome)).toEqual(
    Array(3).fill('exists'),
  )
  const report = await imported(service, { file: edited, on_conflict: 'update' })
  expect(report.items.map(({ outcome }) => outcome)).toEqual(Array(3).fill('updated'))
  expect((await content(service)).full).toEqual(full)
  expect((await exported(service, false)).servers.map(({ definition }) => definition.tags)).toEqual(
    Array(3).fill(['moved']),
  )
})

test('secrets are exported only with a passphrase, which is audited, and only for a caller with the token', async () => {
  const service = await serviceWithServers()
  expect((await service.inject('/api/export')).statusCode).toBe(401)
  const without = await service.inject({ url: '/api/export?include_secrets=true', headers: AUTHORISED })
  expect(without.json()).toMatchObject({ status: 422, errors: [{ path: '/x-export-passphrase' }] })
  const short = { ...AUTHORISED, 'x-export-passphrase': 'short' }
  expect((await service.inject({ url: '/api/export?include_secrets=true', headers: short })).statusCode).toBe(
    422,
  )
  await exported(service, true)
  const { items } = (await service.inject({ url: '/api/events?kind=audit', headers: AUTHORISED })).json()
  expect(items[0]).toMatchObject({ text: 'Everything was exported, with secrets sealed by a passphrase' })
})

test('when the store fails in the middle of an import, what was imported so far is undone', async () => {
  const file = await exported(await serviceWithServers(), true)
  const other = await openTestService()
  const database = openSqlite(join(other.data, 'toolroom.db'))
  database.exec(`CREATE TRIGGER fails BEFORE INSERT ON tool_servers WHEN NEW.name = 'Docs'
    BEGIN SELECT raise(abort, 'no'); END`)
  database.close()
  expect((await post(other, '/api/import', { file, passphrase: PASSPHRASE })).statusCode).toBe(500)
  expect(await content(other)).toEqual({ servers: [], agents: [], presets: [], named_secrets: [], full: [] })
})

test('a choice names only the servers that were imported: an agent or a preset never sees another one that has the name of a missing one', async () => {
  const file = await exported(await serviceWithServers(), false) // echo-one has a secret in its arguments
  const other = await openTestService()
  await register(other, 'echo', [], { name: 'Echo One' })
  const renamed = structuredClone(file)
  for (const server of renamed.servers) if (server.id === 'echo-one') server.definition.name = 'Another'
  const report = await imported(other, { file: renamed })
  expect(report.items.map(({ outcome }) => outcome)).toEqual(['refused', 'created', 'refused'])
  const nothing = { servers: [], tools: {} }
  const { agents, presets } = await exported(other, false)
  expect(agents).toMatchObject([{ agent_type: 'cursor', tools: nothing }])
  expect(presets).toMatchObject([{ name: 'work', choice: nothing }])
})

test('docs/export.md shows what an export is', async () => {
  const page = readFileSync(fileURLToPath(new URL('../../docs/export.md', import.meta.url)), 'utf8')
  const shown = JSON.parse(/^```json\n([\s\S]*?)^```/m.exec(page)?.[1] ?? '')
  const service = await openTestService()
  const { id, definition } = shown.servers[0]
  const docs = { name: id, url: definition.url, headers: { Authorization: `Bearer ${SECRET}` } }
  expect((await post(service, '/api/http-servers', docs)).statusCode).toBe(201)
  const { exported_at, ...file } = await exported(service, false)
  expect({ ...file, exported_at: expect.any(String) }).toEqual(shown)
  expect(Date.parse(exported_at)).toBeGreaterThan(Date.parse(shown.exported_at))
})
