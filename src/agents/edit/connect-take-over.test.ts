import { describe, expect, test } from 'vitest'
import { agentView, done, put, textOf } from '../../../test/support/agents.ts'
import { ownFolder } from '../../../test/support/folder.ts'
import { definition, post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { HistoryItem } from '../read/agents.schema.ts'

const keys = async (service: TestService) =>
  (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json().items

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
    await register(service, 'echo')
    await register(service, 'slow', [], { expose: false })
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

  test("Claude Code's servers of single projects are in the same file, and are parked with it", async () => {
    const { home, service } = await openWithServers()
    const CLAUDE = `{
  "projects": {
    "/home/me/shop": {
      "mcpServers": { "shop": ${entry('echo')} },
      "history": []
    },
    "/home/me/blog": { "mcpServers": {} }
  },
  "mcpServers": {
    "mine": ${entry('echo')}
  }
}`
    put(home, '.claude.json', CLAUDE)
    const report = await done(service, 'POST', '/claude-code/connect', { take_over: true })
    expect(report.parked).toEqual(['mine', 'shop'])
    const { projects, mcpServers } = JSON.parse(textOf(home, '.claude.json'))
    expect([projects['/home/me/shop'].mcpServers, Object.keys(mcpServers)]).toEqual([{}, ['toolroom']])
    await done(service, 'POST', '/claude-code/disconnect')
    expect(textOf(home, '.claude.json')).toBe(CLAUDE)
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
