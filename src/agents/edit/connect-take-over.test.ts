import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agentView, done, put, textOf } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { definition, post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { AgentToolsView } from '../../gateway/catalogue/visibility.schema.ts'
import type { AgentImportReport } from '../../import/import.schema.ts'
import type { HistoryItem } from '../read/agents.schema.ts'

const keys = async (service: TestService) =>
  (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json().items

const visible = async (service: TestService) => {
  const { by_server } = (
    await service.inject({ url: '/api/agents/cursor/tools', headers: AUTHORISED })
  ).json<AgentToolsView>()
  return by_server.map(({ server_id }) => server_id).sort()
}

describe('connecting with take_over', () => {
  const own = (name: string) => definition(name)
  const entry = (name: string) => {
    const { command, args } = own(name)
    return JSON.stringify({ command, args, env: { KEY: 'canary-take-over' } })
  }
  const FILE = `{
  "mcpServers": {
    "mine": ${entry('echo')},
    "theirs": { "command": "x" },
    "hidden": ${entry('slow')}
  }
}`

  async function openWithServers() {
    const home = ownFolder()
    put(home, '.cursor/mcp.json', FILE)
    const service = await openTestService({ home })
    const env = { KEY: 'canary-take-over' }
    await register(service, 'echo', [], { env })
    await register(service, 'slow', [], { env, expose: false })
    await post(service, '/api/servers/echo/start')
    const names = () => Object.keys(JSON.parse(textOf(home, '.cursor/mcp.json')).mcpServers)
    return { home, service, names, text: () => textOf(home, '.cursor/mcp.json') }
  }

  test('without it the report names the tools that the agent gets twice; with it these entries are parked until the agent is disconnected', async () => {
    const { service, names, text } = await openWithServers()
    const doubled = await done(service, 'POST', '/cursor/connect')
    expect(doubled.doubled).toMatchObject([{ name: 'mine', server_id: 'echo' }])
    expect(doubled.doubled[0]?.tools).toContain('echo')
    expect(doubled.warnings).toEqual([expect.stringMatching(/^Cursor gets \d+ tools of 'mine' twice/)])
    const after = text()

    const dry = await done(service, 'POST', '/cursor/connect', { take_over: true, dry_run: true })
    expect(dry).toMatchObject({ parked: ['mine'], doubled: [], warnings: [], backup_id: null })
    expect(dry.diff).not.toContain('canary-take-over')
    expect(text()).toBe(after)

    const report = await done(service, 'POST', '/cursor/connect', { take_over: true })
    expect(report).toMatchObject({ parked: ['mine'], updated: ['toolroom'], doubled: [], warnings: [] })
    expect(names()).toEqual(['theirs', 'hidden', 'toolroom'])
    const shown = (await agentView(service, 'cursor')).servers.find(({ name }) => name === 'mine')
    expect(shown).toMatchObject({
      parked: true,
      managed: false,
      linked_server_id: 'echo',
      env: { KEY: '***' },
    })
    const [change] = (await done<{ items: HistoryItem[] }>(service, 'GET', '/cursor/history')).items
    expect(change?.names).toEqual(['toolroom', 'mine'])

    expect(await done(service, 'POST', '/cursor/disconnect', { dry_run: true })).toMatchObject({
      restored: ['mine'],
    })
    expect(names()).toEqual(['theirs', 'hidden', 'toolroom'])
    expect(await done(service, 'POST', '/cursor/disconnect')).toMatchObject({
      restored: ['mine'],
      removed: ['toolroom'],
    })
    expect([text(), await keys(service)]).toEqual([FILE, []])
    expect((await agentView(service, 'cursor')).servers.map(({ parked }) => parked)).toEqual([
      false,
      false,
      false,
    ])
  })

  test('undo takes back both directions, and parked entries survive a restart', async () => {
    const { home, service, text } = await openWithServers()
    await done(service, 'POST', '/cursor/connect', { take_over: true })
    await done(service, 'POST', '/cursor/undo', {})
    expect(text()).toBe(FILE)
    await done(service, 'POST', '/cursor/disconnect')
    expect(text()).toBe(FILE)
    await done(service, 'POST', '/cursor/connect', { take_over: true })
    await service.close()

    const again = await openTestService({ home })
    expect(await done(again, 'POST', '/cursor/disconnect')).toMatchObject({ restored: ['mine'] })
    expect(text()).toBe(FILE)
    const report = await done(again, 'POST', '/cursor/undo', {})
    expect(report.warnings).toEqual([expect.stringContaining('no longer valid')])
    expect((await agentView(again, 'cursor')).servers.filter(({ parked }) => parked)).toMatchObject([
      { name: 'mine' },
    ])
    expect(await done(again, 'POST', '/cursor/connect', { take_over: true })).toMatchObject({ parked: [] })
    await done(again, 'DELETE', '/cursor/servers')
    expect([text(), await keys(again)]).toEqual([FILE, []])
  })

  test('an entry that Toolroom wrote is managed again after it came back', async () => {
    const { service, names, text } = await openWithServers()
    await done(service, 'PUT', '/cursor/servers', { server_ids: ['echo'] })
    const before = text()
    expect(await done(service, 'POST', '/cursor/connect', { take_over: true })).toMatchObject({
      parked: ['mine', 'echo'],
    })
    await done(service, 'POST', '/cursor/disconnect')
    expect(text()).toBe(before)
    await done(service, 'DELETE', '/cursor/servers')
    expect([text(), names()]).toEqual([FILE, ['mine', 'theirs', 'hidden']])
  })

  test("Claude Code's servers of single projects stay in their projects; one that it has everywhere is parked there, too", async () => {
    const { home, service } = await openWithServers()
    const docs = { type: 'http', url: 'http://127.0.0.1:9/mcp' }
    await post(service, '/api/http-servers', { name: 'docs', url: docs.url })
    const CLAUDE = `{
  "projects": {
    "/home/me/shop": {
      "mcpServers": { "shop": ${entry('echo')}, "docs here": ${JSON.stringify(docs)} },
      "history": []
    },
    "/home/me/blog": { "mcpServers": {} }
  },
  "mcpServers": {
    "mine": ${entry('echo')},
    "docs": ${JSON.stringify(docs)}
  }
}`
    put(home, '.claude.json', CLAUDE)
    const report = await done(service, 'POST', '/claude-code/connect', { take_over: true })
    expect(report.parked).toEqual(['mine', 'docs', 'docs here'])
    expect(report.gateway?.servers).toEqual(['echo', 'docs'])
    const { projects, mcpServers } = JSON.parse(textOf(home, '.claude.json'))
    expect(Object.keys(projects['/home/me/shop'].mcpServers)).toEqual(['shop'])
    expect(Object.keys(mcpServers)).toEqual(['toolroom'])
    await done(service, 'POST', '/claude-code/disconnect')
    expect(textOf(home, '.claude.json')).toBe(CLAUDE)
  })

  test('the agent sees exactly the servers that it had, with their values; other servers only if they are asked for', async () => {
    const { service, names } = await openWithServers()
    await register(service, 'crash')
    const dry = await done(service, 'POST', '/cursor/connect', { take_over: true, dry_run: true })
    expect(dry.gateway).toMatchObject({
      servers: ['echo'],
      before: { servers: 3 },
      after: { servers: 3 },
      gained: [],
      replaced: [{ name: 'mine', server_id: 'echo' }],
      kept: ['theirs', 'hidden'],
      credentials: { before: ['echo: env KEY'], after: ['echo: env KEY'] },
      not_added: 1,
    })
    expect(dry.gateway?.replaced[0]?.tools).toContainEqual({ before: 'echo', after: 'echo__echo' })
    expect(dry.gateway?.after.tools).toBe(dry.gateway?.before.tools)
    expect(await visible(service)).toEqual(['crash', 'echo']) // a dry run chooses nothing
    await done(service, 'POST', '/cursor/connect', { take_over: true })
    expect(await visible(service)).toEqual(['echo'])
    await register(service, 'stdout-noise')
    expect(await visible(service)).toEqual(['echo'])

    const all = await done(service, 'POST', '/cursor/connect', { take_over: true, servers: 'all' })
    expect(all.gateway).toMatchObject({ servers: null, gained: ['crash', 'stdout-noise'], not_added: 0 })
    expect(await visible(service)).toEqual(['crash', 'echo', 'stdout-noise'])
    // Who follows all servers goes on doing so.
    await done(service, 'POST', '/cursor/connect', { take_over: true })
    expect(await visible(service)).toEqual(['crash', 'echo', 'stdout-noise'])
    await done(service, 'POST', '/cursor/connect', { take_over: true, servers: ['crash'] })
    expect([await visible(service), names()]).toEqual([['crash'], ['theirs', 'hidden', 'toolroom']])
  })

  test('an entry with other values than the registered server is another server, and stays in the file', async () => {
    const { home, service } = await openWithServers()
    const OTHER = FILE.replace('canary-take-over', 'canary-other')
    put(home, '.cursor/mcp.json', OTHER)
    const report = await done(service, 'POST', '/cursor/connect', { take_over: true })
    expect(report).toMatchObject({ parked: [], gateway: { servers: [], kept: ['mine', 'theirs', 'hidden'] } })
    expect(await visible(service)).toEqual([])
    await done(service, 'POST', '/cursor/disconnect')
    expect(textOf(home, '.cursor/mcp.json')).toBe(OTHER)
  })

  test('two files of one agent that are taken over at the same moment: it has the servers of both', async () => {
    const { home, service } = await openWithServers()
    const url = 'http://127.0.0.1:9/mcp'
    await post(service, '/api/http-servers', { name: 'docs', url })
    const project_path = join(home, 'shop')
    put(home, 'shop/.cursor/mcp.json', JSON.stringify({ mcpServers: { docs: { url } } }))
    const reports = await Promise.all([
      done(service, 'POST', '/cursor/connect', { take_over: true }),
      done(service, 'POST', '/cursor/connect', { take_over: true, scope: 'project', project_path }),
    ])
    expect(reports.map(({ parked }) => parked)).toEqual([['mine'], ['docs']])
    expect(await visible(service)).toEqual(['docs', 'echo'])
  })

  test('a file that cannot be written leaves the choice as it was', async () => {
    const { home, service } = await openWithServers()
    await register(service, 'crash')
    const path = join(home, '.cursor/mcp.json')
    const { revision } = await agentView(service, 'cursor')
    put(home, '.cursor/mcp.json', FILE.replace('theirs', 'other'))
    const response = await post(service, '/api/agents/cursor/connect', { take_over: true, revision })
    expect([response.statusCode, response.json().code]).toEqual([409, 'config_changed'])
    rmSync(path)
    mkdirSync(path)
    expect(
      (await post(service, '/api/agents/cursor/connect', { take_over: true })).statusCode,
    ).toBeGreaterThan(399)
    expect(await visible(service)).toEqual(['crash', 'echo'])
  })

  test('a key of the agent that is in no file is no reason to follow all servers, and neither is an entry for one server', async () => {
    const { service } = await openWithServers()
    await register(service, 'crash')
    await post(service, '/api/keys', { agent_type: 'cursor' })
    await done(service, 'PUT', '/cursor/servers', { via: 'gateway', server_ids: ['crash'] })
    const report = await done(service, 'POST', '/cursor/connect', { take_over: true })
    expect(report.gateway?.servers).toEqual(['echo'])
    expect(await visible(service)).toEqual(['echo'])
  })

  test('a server of the choice that was removed since does not prevent a connect', async () => {
    const { service } = await openWithServers()
    await register(service, 'crash')
    await done(service, 'POST', '/cursor/connect', { servers: ['crash', 'echo'] })
    await service.inject({ method: 'DELETE', url: '/api/servers/crash', headers: AUTHORISED })
    const report = await done(service, 'POST', '/cursor/connect', { take_over: true })
    expect(report.gateway?.servers).toEqual(['echo'])
    expect(await visible(service)).toEqual(['echo'])
  })

  test("an entry with a field that Toolroom cannot keep, of a stopped server, or that a person edited, stays; so does a user's own entry called toolroom", async () => {
    const { home, service } = await openWithServers()
    const { command, args } = own('echo')
    const env = { KEY: 'canary-take-over' }
    const servers = { limited: { command, args, env, envFile: '.env' }, mine: { command, args, env } }
    put(home, '.cursor/mcp.json', JSON.stringify({ mcpServers: servers }))
    const report = await done(service, 'POST', '/cursor/connect', { take_over: true, dry_run: true })
    expect(report).toMatchObject({ parked: ['mine'], gateway: { kept: ['limited'] } })
    await post(service, '/api/servers/echo/stop')
    const stopped = await done(service, 'POST', '/cursor/connect', { take_over: true, dry_run: true })
    expect(stopped).toMatchObject({ parked: [], gateway: { kept: ['limited', 'mine'] } })
    await post(service, '/api/servers/echo/start')
    put(home, '.cursor/mcp.json', '{"mcpServers":{}}')
    await done(service, 'PUT', '/cursor/servers', { server_ids: ['echo'] })
    put(home, '.cursor/mcp.json', textOf(home, '.cursor/mcp.json').replace('canary-take-over', 'edited'))
    expect(await done(service, 'POST', '/cursor/connect', { take_over: true, dry_run: true })).toMatchObject({
      parked: [],
    })
    const TAKEN = '{"mcpServers":{"toolroom":{"command":"my-own"}}}'
    put(home, '.cursor/mcp.json', TAKEN)
    const refused = await post(service, '/api/agents/cursor/connect', { take_over: true })
    expect([refused.statusCode, refused.json().code]).toEqual([422, 'not_supported'])
    await done(service, 'POST', '/cursor/disconnect')
    expect(textOf(home, '.cursor/mcp.json')).toBe(TAKEN)
  })

  test('an import with update changes no other variant: several servers with the same command need a server_id', async () => {
    const home = ownFolder()
    const file = (token: string) =>
      JSON.stringify({
        mcpServers: { memory: { command: 'npx', args: ['-y', 'memory'], env: { A: token } } },
      })
    put(home, '.cursor/mcp.json', file('cursor'))
    put(home, '.gemini/settings.json', file('gemini'))
    const service = await openTestService({ home })
    await done(service, 'POST', '/import', {})
    put(home, '.gemini/settings.json', file('gemini-2'))
    const input = { update: true, agents: ['gemini-cli'] }
    const refused = await done<AgentImportReport>(service, 'POST', '/import', input)
    expect(refused.items).toMatchObject([
      { outcome: 'refused', reason: expect.stringContaining('server_id') },
    ])
    const server_id = 'memory-gemini-cli'
    const updated = await done<AgentImportReport>(service, 'POST', '/import', { ...input, server_id })
    expect(updated.items).toMatchObject([{ outcome: 'updated', server_id }])
    const revealed = async (id: string) =>
      (await post(service, `/api/servers/${id}/reveal`, { field: 'env', name: 'A' })).json().value
    expect([await revealed('memory'), await revealed(server_id)]).toEqual(['cursor', 'gemini-2'])
    const unknown = await post(service, '/api/agents/import', { ...input, server_id: 'nope' })
    expect(unknown.statusCode).toBe(422)
  })

  test('with keep_names each entry keeps its name and its other fields, and leads to its server alone, with the names of its tools', async () => {
    const { home, service, names, text } = await openWithServers()
    const file = FILE.replace('"mine": {', '"mine": {"autoApprove":["echo"],')
    put(home, '.cursor/mcp.json', file)
    await register(service, 'crash')
    const input = { take_over: true, keep_names: true }
    const dry = await done(service, 'POST', '/cursor/connect', { ...input, dry_run: true })
    expect([text(), await keys(service)]).toEqual([file, []])
    expect(dry.gateway).toMatchObject({
      servers: ['echo'],
      keep_names: true,
      gained: [],
      kept: ['theirs', 'hidden'],
      not_added: 1,
    })
    expect(dry.gateway?.after).toEqual(dry.gateway?.before)
    expect(dry.gateway?.replaced[0]?.tools).toContainEqual({ before: 'echo', after: 'echo' })
    expect(await done(service, 'POST', '/cursor/connect', input)).toMatchObject({
      parked: ['mine'],
      updated: ['mine'],
      added: [],
    })
    expect(names()).toEqual(['mine', 'theirs', 'hidden'])
    const { url, headers, ...rest } = JSON.parse(text()).mcpServers.mine
    expect([url, rest]).toEqual([`${service.address}/mcp/echo`, { autoApprove: ['echo'] }])
    const ask = async (at: string, method: string) => {
      const params = {
        protocolVersion: '2025-06-18',
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method, params })
      return fetch(at, { method: 'POST', headers: { ...headers, 'content-type': 'application/json' }, body })
    }
    expect((await ask(url, 'initialize')).status).toBe(200)
    expect((await ask(`${service.address}/mcp/crash`, 'initialize')).status).toBe(404)
    expect(await visible(service)).toEqual(['echo'])

    // Again, and after a restart: the same, with a new key.
    await done(service, 'POST', '/cursor/connect', { take_over: true })
    expect(names()).toEqual(['mine', 'theirs', 'hidden'])
    expect(JSON.parse(text()).mcpServers.mine.headers.Authorization).not.toBe(headers.Authorization)
    expect(await keys(service)).toHaveLength(1)
    const other = await service.inject({
      method: 'POST',
      url: '/api/agents/cursor/connect',
      headers: AUTHORISED,
      payload: { take_over: true, keep_names: false },
    })
    expect([other.statusCode, other.json().hint]).toEqual([
      422,
      expect.stringContaining('Disconnect Cursor first'),
    ])

    // Undo and redo, then a server that is added to its entries leaves with them.
    const again = text()
    await done(service, 'POST', '/cursor/undo')
    await done(service, 'POST', '/cursor/undo')
    expect(text()).toBe(file)
    const [undone] = (await service.inject({ url: '/api/agents/cursor/history', headers: AUTHORISED })).json<{
      items: HistoryItem[]
    }>().items
    await done(service, 'POST', '/cursor/undo', { backup_id: undone?.id })
    expect(names()).toEqual(['mine', 'theirs', 'hidden'])
    await done(service, 'POST', '/cursor/connect', input)
    await done(service, 'PUT', '/cursor/servers', { via: 'gateway', server_ids: ['crash'] })
    expect(names()).toEqual(['mine', 'theirs', 'hidden', 'crash'])
    expect(again).not.toBe(text())
    await done(service, 'POST', '/cursor/disconnect')
    expect([text(), await keys(service)]).toEqual([file, []])
  })

  test('keep_names needs a take-over, and leads to no other servers than those of the entries', async () => {
    const { service, text } = await openWithServers()
    for (const payload of [{ keep_names: true }, { keep_names: true, take_over: true, servers: 'all' }]) {
      const url = '/api/agents/cursor/connect'
      const refused = await service.inject({ method: 'POST', url, headers: AUTHORISED, payload })
      expect(refused.statusCode).toBe(422)
    }
    await done(service, 'POST', '/cursor/connect', { take_over: true })
    const payload = { keep_names: true, take_over: true }
    const url = '/api/agents/cursor/connect'
    const refused = await service.inject({ method: 'POST', url, headers: AUTHORISED, payload })
    expect(refused.json().detail).toContain('is connected with one entry for all servers')
    await done(service, 'POST', '/cursor/disconnect')
    expect(text()).toBe(FILE)
  })

  test("a user's own entry that is disabled leaves the file where the agent has no switch, and comes back as it was", async () => {
    const { home, service, names, text } = await openWithServers()
    const file = FILE.replace('"mine": {', '"mine": {"autoApprove":["echo"],')
    put(home, '.cursor/mcp.json', file)
    const put_ = (body: object) => done(service, 'PUT', '/cursor/servers', body)
    expect(await put_({ disable: ['mine'], dry_run: true })).toMatchObject({
      changed: true,
      updated: ['mine'],
    })
    await put_({ disable: ['mine'] })
    expect(names()).toEqual(['theirs', 'hidden'])
    expect((await agentView(service, 'cursor')).servers).toContainEqual(
      expect.objectContaining({ name: 'mine', parked: true, managed: false, linked_server_id: 'echo' }),
    )
    await put_({ server_ids: ['echo'], enable: true })
    expect(text()).toBe(file)
    expect((await agentView(service, 'cursor')).managed_count).toBe(0)
    for (const back of ['undo', 'restore', 'remove']) {
      await put_({ disable: ['mine'] })
      if (back === 'undo') await done(service, 'POST', '/cursor/undo')
      else if (back === 'restore') await post(service, '/api/backups/restore', { agent_type: 'cursor' })
      else await done(service, 'DELETE', '/cursor/servers')
      expect([back, text()]).toEqual([back, file])
    }
  })

  test('a server that is not known is named, and nothing is chosen or written', async () => {
    const { service, text } = await openWithServers()
    const response = await post(service, '/api/agents/cursor/connect', { servers: ['echo', 'ecko'] })
    expect([response.statusCode, response.json().detail]).toEqual([422, expect.stringContaining('ecko')])
    expect([text(), await visible(service)]).toEqual([FILE, ['echo']])
  })

  test('an entry that the agent has disabled stays in the file', async () => {
    const { home, service } = await openWithServers()
    const { command, args } = own('echo')
    const CODEX = `[mcp_servers.off]\ncommand = ${JSON.stringify(command)}\nargs = ${JSON.stringify(args)}\nenabled = false\n`
    put(home, '.codex/config.toml', CODEX)
    expect(await done(service, 'POST', '/codex/connect', { take_over: true })).toMatchObject({ parked: [] })
    await done(service, 'POST', '/codex/disconnect')
    expect(textOf(home, '.codex/config.toml')).toBe(CODEX)
  })
})
