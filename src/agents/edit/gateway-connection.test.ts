import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { openEdit } from '../../../test/support/agent-edit.ts'
import { agents, DESKTOP, done, put, textOf } from '../../../test/support/agents.ts'
import { MAIN, openBridge } from '../../../test/support/bridge.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { openSqlite } from '../../store/sqlite/sqlite.ts'

const keys = async (service: TestService) =>
  (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json().items
const CURSOR = '{\n  "mcpServers": {\n    "theirs": { "command": "x" }\n  }\n}\n'

test('connecting writes one entry with a working key, and disconnecting restores the exact bytes and removes the key', async () => {
  const home = ownFolder()
  put(home, '.cursor/mcp.json', CURSOR)
  const service = await openTestService({ home })
  await register(service, 'echo')
  const dry = await done(service, 'POST', '/cursor/connect', { dry_run: true })
  expect(dry).toMatchObject({ changed: true, added: ['toolroom'] })
  expect([textOf(home, '.cursor/mcp.json'), await keys(service)]).toEqual([CURSOR, []])
  const report = await done(service, 'POST', '/cursor/connect')
  expect(report.diff).not.toContain('tk_')
  const { url, headers } = JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.toolroom
  expect(url).toBe(`${service.address}/mcp`)
  const reply = await fetch(url, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-06-18' },
    }),
  })
  expect(reply.status).toBe(200)
  expect(await keys(service)).toMatchObject([{ agent_type: 'cursor' }])
  const before = headers.Authorization
  await done(service, 'POST', '/cursor/connect')
  expect(await keys(service)).toHaveLength(1)
  expect(JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.toolroom.headers.Authorization).not.toBe(
    before,
  )
  expect(await done(service, 'POST', '/cursor/disconnect')).toMatchObject({ removed: ['toolroom'] })
  expect([textOf(home, '.cursor/mcp.json'), await keys(service)]).toEqual([CURSOR, []])
})

test('an agent that supports no URL gets a working bridge command', async () => {
  const home = ownFolder()
  put(home, DESKTOP, '{}\n')
  const service = await openTestService({ home })
  const report = await done(service, 'POST', '/claude-desktop/connect')
  expect(report).toMatchObject({ changed: true, added: ['toolroom'] })
  expect(report.diff).not.toContain('tk_')
  const { command, args, env, ...rest } = JSON.parse(textOf(home, DESKTOP)).mcpServers.toolroom
  expect({ command, args, rest }).toEqual({ command: process.execPath, args: [MAIN, 'connect'], rest: {} })
  expect(env).toEqual({ TOOLROOM_KEY: expect.stringMatching(/^tk_/), TOOLROOM_HOME: service.data })
  const bridge = openBridge({ env })
  expect(await bridge.greet()).toMatchObject({ result: { serverInfo: { name: 'toolroom' } } })
  expect(await done(service, 'POST', '/claude-desktop/disconnect')).toMatchObject({ removed: ['toolroom'] })
  expect([textOf(home, DESKTOP), await keys(service)]).toEqual(['{}\n', []])
  expect(await bridge.ask(1, 'tools/list')).toMatchObject({ error: { code: -31_401 } })
})

test('a dry run of a connection with a bridge installs no program', async () => {
  const keep = vi.fn(async () => {})
  const { edit, gateway } = await openEdit(ownFolder())
  gateway.program.keep = keep
  const by = { request_id: null }
  await edit.connect('claude-desktop', { dry_run: true, create: true }, by)
  expect(keep).not.toHaveBeenCalled()
  await edit.connect('claude-desktop', { create: true }, by)
  expect(keep).toHaveBeenCalledTimes(1)
})

test('an agent that supports both gets the bridge command on request, and the URL again after that', async () => {
  const home = ownFolder()
  put(home, '.cursor/mcp.json', CURSOR)
  const service = await openTestService({ home })
  const entry = () => JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers.toolroom
  await done(service, 'POST', '/cursor/connect', { bridge: true })
  expect(entry()).toMatchObject({ command: process.execPath, args: [MAIN, 'connect'] })
  await done(service, 'POST', '/cursor/connect')
  expect(entry()).toMatchObject({ url: `${service.address}/mcp` })
  expect(entry()).not.toHaveProperty('command')
  expect(await keys(service)).toHaveLength(1)
})

describe('gateway entries', () => {
  async function openWithServers() {
    const home = ownFolder()
    put(home, '.cursor/mcp.json', CURSOR)
    const service = await openTestService({ home })
    for (const kind of ['echo', 'paged', 'slow']) await register(service, kind)
    const entries = () => JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers
    return { home, service, entries, via: { via: 'gateway' } }
  }

  test('gateway entries share one key, which is replaced when entries are added and removed with the last of them', async () => {
    const { home, service, entries, via } = await openWithServers()
    const body = { ...via, server_ids: ['echo', 'paged'] }
    expect(await done(service, 'PUT', '/cursor/servers', { ...body, dry_run: true })).toMatchObject({
      added: ['echo', 'paged'],
    })
    expect([textOf(home, '.cursor/mcp.json'), await keys(service)]).toEqual([CURSOR, []])
    expect((await done(service, 'PUT', '/cursor/servers', body)).diff).not.toContain('tk_')
    expect(entries()).toMatchObject({
      echo: { url: `${service.address}/mcp/echo` },
      paged: { url: `${service.address}/mcp/paged` },
    })
    const first = entries().echo.headers.Authorization
    expect(entries().paged.headers.Authorization).toBe(first)

    const later = await done(service, 'PUT', '/cursor/servers', { ...via, server_ids: ['slow'] })
    expect(later).toMatchObject({ added: ['slow'], updated: ['echo', 'paged'] })
    const all = ['echo', 'paged', 'slow'].map((name) => entries()[name].headers.Authorization)
    expect(new Set(all).size).toBe(1)
    expect(all[0]).not.toBe(first)
    expect(await keys(service)).toMatchObject([{ agent_type: 'cursor', name: 'gateway: user' }])

    await done(service, 'DELETE', '/cursor/servers', { names: ['echo', 'slow'] })
    expect(await keys(service)).toHaveLength(1)
    await done(service, 'DELETE', '/cursor/servers')
    expect([textOf(home, '.cursor/mcp.json'), await keys(service)]).toEqual([CURSOR, []])
  })

  test('gateway entries of single servers are independent of the entry for all servers', async () => {
    const { service, entries, via } = await openWithServers()
    await done(service, 'PUT', '/cursor/servers', { ...via, server_ids: ['echo'] })
    await done(service, 'PUT', '/cursor/servers', via)
    expect(entries()).toMatchObject({
      toolroom: { url: `${service.address}/mcp` },
      echo: { url: `${service.address}/mcp/echo` },
    })
    const names = async () => (await keys(service)).map(({ name }: { name: string }) => name).sort()
    expect(await names()).toEqual(['connect: user', 'gateway: user'])
    await done(service, 'PUT', '/cursor/servers', { server_ids: ['echo'] })
    expect(entries().echo).toMatchObject({ command: process.execPath })
    expect(await names()).toEqual(['connect: user'])
    await done(service, 'DELETE', '/cursor/servers', { names: ['toolroom'] })
    expect(await names()).toEqual([])
  })

  test('gateway entries are bridge commands for an agent without URLs, and an unknown server is refused', async () => {
    const { home, service, via } = await openWithServers()
    put(home, DESKTOP, '{}')
    await done(service, 'PUT', '/claude-desktop/servers', { ...via, server_ids: ['echo'] })
    const { args, env } = JSON.parse(textOf(home, DESKTOP)).mcpServers.echo
    expect(args).toEqual([MAIN, 'connect', '--server', 'echo'])
    expect(env.TOOLROOM_HOME).toBe(service.data)
    const refused = [
      [{ ...via, servers: { mine: { command: 'x' } } }, 422],
      [{ ...via, server_ids: ['unknown'] }, 404],
    ] as const
    for (const [body, status] of refused)
      expect(await agents(service, 'PUT', '/cursor/servers', body)).toMatchObject({ status })
    expect(await keys(service)).toMatchObject([{ agent_type: 'claude-desktop' }])
  })
})

/** The keys in the file, and how the gateway answers to each. */
async function keysInFile(service: TestService, text: string) {
  const found = [...new Set(text.match(/tk_[\w-]+/g))]
  const body = JSON.stringify({
    jsonrpc: '2.0',
    id: 0,
    method: 'initialize',
    params: { protocolVersion: '2025-06-18' },
  })
  const answers = found.map(async (key) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' }
    return (await fetch(`${service.address}/mcp`, { method: 'POST', headers, body })).status
  })
  return Promise.all(answers)
}

describe('a file and its key', () => {
  async function cursor() {
    const home = ownFolder()
    put(home, '.cursor/mcp.json', CURSOR)
    const service = await openTestService({ home })
    await register(service, 'echo')
    return { home, service, text: () => textOf(home, '.cursor/mcp.json') }
  }

  test('parallel connects leave one key, and it is the one in the file', async () => {
    const { service, text } = await cursor()
    const replies = await Promise.all([1, 2, 3].map(() => agents(service, 'POST', '/cursor/connect')))
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await keysInFile(service, text())).toEqual([200])
    expect(await keys(service)).toHaveLength(1)
  })

  test('connects, disconnects and gateway entries at the same time leave exactly the keys that are in the file', async () => {
    const { service, text } = await cursor()
    const requests = ['connect', 'disconnect', 'connect', 'servers', 'disconnect', 'servers', 'connect'].map(
      (verb) =>
        verb === 'servers'
          ? agents(service, 'PUT', '/cursor/servers', { via: 'gateway', server_ids: ['echo'] })
          : agents(service, 'POST', `/cursor/${verb}`),
    )
    expect((await Promise.all(requests)).map(({ status }) => status)).toEqual(requests.map(() => 200))
    const answers = await keysInFile(service, text())
    expect(answers).toEqual([200, 200])
    expect(await keys(service)).toHaveLength(2)
    await done(service, 'DELETE', '/cursor/servers')
    expect([text(), await keys(service)]).toEqual([CURSOR, []])
  })

  test('disconnecting succeeds when the entry or the key is already gone', async () => {
    const { home, service, text } = await cursor()
    await done(service, 'POST', '/cursor/connect')
    const [{ id }] = await keys(service)
    await service.inject({ method: 'DELETE', url: `/api/keys/${id}`, headers: AUTHORISED })
    expect(await done(service, 'POST', '/cursor/disconnect')).toMatchObject({ removed: ['toolroom'] })
    await done(service, 'POST', '/cursor/connect')
    put(home, '.cursor/mcp.json', CURSOR)
    await done(service, 'POST', '/cursor/disconnect')
    expect([text(), await keys(service)]).toEqual([CURSOR, []])
    expect(await done(service, 'POST', '/cursor/disconnect')).toMatchObject({ changed: false })
  })

  test('undoing a connect removes its key, and an undo that brings back an old key says so', async () => {
    const { service, text } = await cursor()
    await done(service, 'POST', '/cursor/connect')
    await done(service, 'POST', '/cursor/connect')
    const report = await done(service, 'POST', '/cursor/undo', {})
    expect(report.warnings).toEqual([expect.stringContaining('no longer valid')])
    expect([await keysInFile(service, text()), await keys(service)]).toEqual([[401], []])
    expect((await done(service, 'POST', '/cursor/undo', {})).warnings).toEqual([])
    expect(text()).toBe(CURSOR)
  })

  test('two projects with long paths keep a key each', async () => {
    const { home, service } = await cursor()
    const projects = ['one', 'two'].map((name) => join(home, 'a'.repeat(100), name))
    for (const project_path of projects) {
      mkdirSync(project_path, { recursive: true })
      await done(service, 'POST', '/cursor/connect', { scope: 'project', project_path })
    }
    const texts = projects.map((project) => readFileSync(join(project, '.cursor/mcp.json'), 'utf8'))
    for (const text of texts) expect(await keysInFile(service, text)).toEqual([200])
  })

  test('a key that an earlier version made is replaced and removed with its entry', async () => {
    const { home, service, text } = await cursor()
    await done(service, 'POST', '/cursor/connect')
    await service.close()
    // Earlier versions recorded no keys: the record is forgotten, the key and the entry stay.
    const database = openSqlite(join(service.data, 'toolroom.db'))
    database.exec('DELETE FROM agent_files')
    database.close()
    const again = await openTestService({ home })
    await done(again, 'POST', '/cursor/connect')
    expect([await keysInFile(again, text()), (await keys(again)).length]).toEqual([[200], 1])
    await done(again, 'POST', '/cursor/disconnect')
    expect(await keys(again)).toEqual([])
  })
})

test('an entry that leads to Toolroom itself is not imported as a server', async () => {
  const home = ownFolder()
  put(home, DESKTOP, '{}')
  put(home, '.cursor/mcp.json', CURSOR)
  const service = await openTestService({ home })
  await done(service, 'POST', '/claude-desktop/connect')
  await done(service, 'POST', '/cursor/connect')
  const { items } = await done<{ items: { name: string }[] }>(service, 'POST', '/import', {})
  expect(items.map(({ name }) => name)).toEqual(['theirs'])
})
