import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { join, normalize, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { agents, agentView, DESKTOP, done, GOOSE, put, textOf } from '../../test/support/agents.ts'
import { covers } from '../../test/support/covers.ts'
import { ownFolder } from '../../test/support/folder.ts'
import { mayLink, PRIVATE_FILE } from '../../test/support/home-env.ts'
import { sharedByTests } from '../../test/support/lifetime.ts'
import { openTestService, type TestService } from '../../test/support/test-service.ts'
import type {
  EntryTrial,
  AgentImportReport as ImportReport,
  AgentScan as Scan,
} from '../import/import.schema.ts'
import type { AgentSummary, EffectiveEntry, FileView, HistoryItem } from './read/agents.schema.ts'

const CLAUDE = `{
  "numStartups": 7,
  "mcpServers": {
    "theirs": {
      "type": "stdio",
      "command": "npx",
      "args": ["-y", "theirs-mcp"],
      "env": { "THEIR_TOKEN": "s3cret-theirs" }
    }
  },
  "oauthAccount": { "accessToken": "s3cret-account" }
}`
const CODEX = `# my settings
model = "gpt" # keep

[mcp_servers.theirs]
command = "uvx" # why not
args = ["theirs"]

[mcp_servers.theirs.env]
KEY = "s3cret-codex"
`
const notes = { command: 'npx', args: ['-y', 'notes-mcp'], env: { NOTES_TOKEN: 's3cret-notes' } }
/** How the command of `notes` is written into Claude Code's file: on Windows it starts no batch file. */
const NPX_OF_CLAUDE =
  process.platform === 'win32' ? { command: 'cmd', args: ['/c', 'npx', ...notes.args] } : {}

async function houseWith(files: Record<string, string> = {}) {
  const home = ownFolder()
  for (const [path, text] of Object.entries(files)) put(home, path, text)
  return { service: await openTestService({ home }), home }
}

describe('reading', () => {
  test.each(['__proto__', 'prototype', 'constructor'])(
    'an entry named %s is listed like any other, with its line',
    async (name) => {
      const { service } = await houseWith({
        '.cursor/mcp.json': `{"mcpServers": {\n"${name}": {"command": "x"},\n"ok": {"command": "y"}}}`,
      })
      expect((await service.inject('/api/agents?include=servers')).statusCode).toBe(200)
      const { servers } = await agentView(service, 'cursor')
      expect(servers).toMatchObject([
        { name, line: 2 },
        { name: 'ok', line: 3 },
      ])
      expect(
        (await agents<{ items: unknown[] }>(service, 'GET', '/cursor/effective')).body.items,
      ).toHaveLength(2)
    },
  )

  test('agents are listed with their files, and one agent with its entries, secrets masked', async () => {
    covers('agents-list', 'agents-get', 'does-agents', 'public-agents')
    const { service } = await houseWith({ '.claude.json': CLAUDE, '.codex/config.toml': CODEX })
    const reply = await service.inject('/api/agents')
    const { items } = reply.json()
    expect(items.length).toBeGreaterThanOrEqual(25)
    expect(items.find((item: { agent_type: string }) => item.agent_type === 'claude-code')).toMatchObject({
      name: 'Claude Code',
      installed: true,
      server_count: 1,
      managed_count: 0,
      drift: [],
    })
    const claude = await agentView(service, 'claude-code')
    expect(claude.servers).toEqual([
      {
        name: 'theirs',
        type: 'stdio',
        command: 'npx',
        args: ['-y', 'theirs-mcp'],
        env: { THEIR_TOKEN: '***' },
        cwd: null,
        enabled: true,
        parked: false,
        managed: false,
        linked_server_id: null,
        differs: [],
        scope: 'user',
        line: 4,
        problem: null,
      },
    ])
    const codex = await agentView(service, 'codex')
    expect(JSON.stringify([items, claude, codex])).not.toContain('s3cret')
    expect(codex.servers[0]).toMatchObject({ name: 'theirs', command: 'uvx', env: { KEY: '***' }, line: 4 })
  })

  test('a missing file reads as an empty configuration, an alias finds its agent, and an unknown agent is 404', async () => {
    const { service } = await houseWith()
    const devin = await agentView(service, 'windsurf')
    expect(devin).toMatchObject({ agent_type: 'devin-desktop', servers: [], revision: null })
    expect(devin.scopes[0]).toMatchObject({ exists: false, parse_error: null })
    const unknown = await agents(service, 'GET', '/unknown')
    expect(unknown).toMatchObject({ status: 404, body: { code: 'not_found' } })
  })

  test('an invalid file is reported with line and column, and reading a project requires the token', async () => {
    const { service, home } = await houseWith({ '.cursor/mcp.json': '{\n  "mcpServers": { oops }\n}' })
    const cursor = await agentView(service, 'cursor')
    expect(cursor.scopes[0]).toMatchObject({ exists: true, parse_error: { line: 2, column: 19 } })
    type Report = { readonly problems: readonly { readonly message: string }[] }
    const { body } = await agents<Report>(service, 'POST', '/import', { dry_run: true })
    const [problem] = body.problems
    expect(problem).toMatchObject({ agent_type: 'cursor', path: join(home, '.cursor/mcp.json') })
    expect(problem?.message).toContain('line 2, column 19')
    const url = `/api/agents/cursor?project_path=${encodeURIComponent(home)}`
    expect((await service.inject(url)).statusCode).toBe(401)
    expect((await service.inject(url.replace('project_path', 'p%72oject_path'))).statusCode).toBe(401)
    expect((await service.inject('/api/agents/cursor')).statusCode).toBe(200)
    expect((await service.inject('/api/agents/cursor/effective')).statusCode).toBe(401)
  })

  test('the lines of a file are shown masked and bounded, with the column of the fault, and only with the token', async () => {
    const { service } = await houseWith({
      '.cursor/mcp.json': '{\n  "mcpServers": { "a": "s3cret" oops }\n}',
      '.claude.json': CLAUDE,
      '.codex/config.toml': `big = "${'x'.repeat(30_000)}"\n${'n = 1 # s3cret\n'.repeat(600)}`,
      [GOOSE]: 'model: gpt-5 # a good one\nKEY: word\n',
    })
    const read = (type: string, query = '') => agents<FileView>(service, 'GET', `/${type}/file${query}`)
    expect((await service.inject('/api/agents/cursor/file')).statusCode).toBe(401)
    expect(await read('cursor')).toMatchObject({
      status: 200,
      body: {
        scope: 'user',
        total_lines: 3,
        lines: [
          { line: 1, text: '{', cut: false, fault_column: null },
          { line: 2, text: '  "mcpServers": { "a": "***" *** }', fault_column: 30 },
          { line: 3, text: '}' },
        ],
        parse_error: { line: 2, column: 33 },
      },
    })
    const claude = (await read('claude-code', '?first_line=4&limit=2')).body
    expect(claude).toMatchObject({
      total_lines: 12,
      lines: [{ text: '    "theirs": {' }, { text: '      "type": "stdio",' }],
    })
    const { lines, total_lines } = (await read('codex')).body
    expect({ total_lines, shown: lines.length }).toEqual({ total_lines: 601, shown: 200 })
    expect(lines.slice(0, 2)).toMatchObject([
      { text: 'big = "***"', cut: true },
      { text: 'n = 1 # ***', cut: false },
    ])
    expect((await read('codex', '?limit=501')).status).toBe(422)
    expect((await read('codex', '?first_line=602')).body.lines).toEqual([])
    const goose = (await read('goose')).body.lines.map(({ text }) => text)
    expect(goose).toEqual(['model: gpt-5 # a good one', 'KEY: ***'])
    expect(await read('zed')).toMatchObject({ status: 404, body: { code: 'not_found' } })
    expect((await read('unknown')).status).toBe(404)
  })

  test('the effective view shows which file and line of an entry takes precedence', async () => {
    const { service, home } = await houseWith({
      '.claude.json': CLAUDE,
      'shop/.mcp.json':
        '{\n "mcpServers": {\n  "theirs": { "command": "node" },\n  "shop": { "command": "sh" }\n }\n}\n',
    })
    const project = join(home, 'shop')
    const { items } = await done<{ items: EffectiveEntry[] }>(
      service,
      'GET',
      `/claude-code/effective?project_path=${encodeURIComponent(project)}`,
    )
    expect(
      items.map(({ name, scope, line, command, shadows }) => ({ name, scope, line, command, shadows })),
    ).toEqual([
      {
        name: 'theirs',
        scope: 'project',
        line: 3,
        command: 'node',
        shadows: [{ scope: 'user', path: join(home, '.claude.json'), line: 4 }],
      },
      { name: 'shop', scope: 'project', line: 4, command: 'sh', shadows: [] },
    ])
  })
})

describe('changing', () => {
  test('adding an entry changes nothing else in the file, and the diff masks every secret', async () => {
    covers('agents-update-servers')
    const { service, home } = await houseWith({ '.claude.json': CLAUDE })
    const { mode } = statSync(join(home, '.claude.json'))
    const dry = await done(service, 'PUT', '/claude-code/servers', { servers: { notes }, dry_run: true })
    expect(dry).toMatchObject({ dry_run: true, changed: true, added: ['notes'], backup_id: null })
    expect(textOf(home, '.claude.json')).toBe(CLAUDE)
    const report = await done(service, 'PUT', '/claude-code/servers', { servers: { notes } })
    expect(report).toMatchObject({
      changed: true,
      added: ['notes'],
      diff: dry.diff,
      reload_hint: expect.any(String),
    })
    expect(report.diff).toContain('+    "notes": {')
    expect(report.diff).toContain('notes-mcp')
    expect(report.diff).not.toContain('s3cret')
    const text = textOf(home, '.claude.json')
    expect(JSON.parse(text).mcpServers.notes).toEqual({ type: 'stdio', ...notes, ...NPX_OF_CLAUDE })
    expect(text.replace(/,\n {4}"notes": \{[\s\S]*?\n {4}\}(?=\n {2}\})/, '')).toBe(CLAUDE)
    expect(statSync(join(home, '.claude.json')).mode).toBe(mode)
  })

  test('removing an added entry restores the exact bytes, also of an empty file', async () => {
    covers('agents-remove-servers')
    for (const before of [CLAUDE, '{}', '{ }\n', '']) {
      const { service, home } = await houseWith({ '.claude.json': before })
      await done(service, 'PUT', '/claude-code/servers', {
        servers: { notes, other: { url: 'https://docs.example/mcp' } },
      })
      await done(service, 'DELETE', '/claude-code/servers', { names: ['notes'] })
      const report = await done(service, 'DELETE', '/claude-code/servers?name=other')
      expect(report).toMatchObject({ changed: true, removed: ['other'] })
      expect(textOf(home, '.claude.json')).toBe(before)
    }
  })

  test('a removal without names removes only managed entries, and an empty list of names is refused', async () => {
    const { service, home } = await houseWith({ '.claude.json': CLAUDE })
    await done(service, 'PUT', '/claude-code/servers', { servers: { notes } })
    expect((await agents(service, 'DELETE', '/claude-code/servers', { names: [] })).status).toBe(422)
    expect(await done(service, 'DELETE', '/claude-code/servers')).toMatchObject({ removed: ['notes'] })
    expect(textOf(home, '.claude.json')).toBe(CLAUDE)
    expect(await done(service, 'DELETE', '/claude-code/servers')).toMatchObject({
      changed: false,
      removed: [],
    })
  })

  test('an update keeps comments and unknown fields, and a masked value keeps the stored one', async () => {
    const { service, home } = await houseWith({ '.codex/config.toml': CODEX })
    const entry = { command: 'uvx', args: ['theirs', '--fast'], env: { KEY: '***', LEVEL: 'debug' } }
    const report = await done(service, 'PUT', '/codex/servers', { servers: { theirs: entry } })
    expect(report.updated).toEqual(['theirs'])
    const text = textOf(home, '.codex/config.toml')
    expect(text).toContain('command = "uvx" # why not')
    expect(text).toContain('KEY = "s3cret-codex"')
    expect(text).toContain('"--fast"')
    expect(text).toContain('model = "gpt" # keep')
    const masked = { servers: { fresh: { command: 'x', env: { KEY: '***' } } } }
    expect(await agents(service, 'PUT', '/codex/servers', masked)).toMatchObject({ status: 422 })
  })

  test('a registered server is written as a linked entry in every format', async () => {
    const { service } = await houseWith({
      '.codex/config.toml': CODEX,
      [GOOSE]: 'a: 1\n',
      '.claude.json': CLAUDE,
    })
    const headers = { 'x-svc-token': '0123456789abcdef'.repeat(4) }
    await service.inject({
      method: 'POST',
      url: '/api/servers',
      headers,
      payload: { name: 'Notes', ...notes },
    })
    for (const type of ['codex', 'claude-code', 'goose']) {
      await done(service, 'PUT', `/${type}/servers`, { server_ids: ['notes'] })
      const { servers } = await agentView(service, type)
      expect(servers.find(({ name }) => name === 'notes')).toMatchObject({
        managed: true,
        linked_server_id: 'notes',
      })
    }
    const server = (await service.inject('/api/servers/notes')).json()
    expect(server.used_by_agents).toEqual(['claude-code', 'codex', 'goose'])
  })

  test('replace removes managed entries and leaves all others', async () => {
    const { service } = await houseWith({ '.claude.json': CLAUDE })
    await done(service, 'PUT', '/claude-code/servers', { servers: { notes } })
    const other = { command: 'other' }
    expect(
      await done(service, 'PUT', '/claude-code/servers', { servers: { other }, mode: 'replace' }),
    ).toMatchObject({
      added: ['other'],
      removed: ['notes'],
    })
    const { servers } = await agentView(service, 'claude-code')
    expect(servers.map(({ name, managed }) => [name, managed])).toEqual([
      ['theirs', false],
      ['other', true],
    ])
  })

  test('an entry is disabled and enabled by a flag, by a list in another file, or by parking it', async () => {
    const { service, home } = await houseWith({
      '.codex/config.toml': CODEX,
      '.copilot/mcp-config.json': '{}\n',
      '.cursor/mcp.json': '{}\n',
    })
    for (const type of ['codex', 'github-copilot-cli', 'cursor']) {
      await done(service, 'PUT', `/${type}/servers`, { servers: { notes } })
      await done(service, 'PUT', `/${type}/servers`, { servers: { notes: { ...notes, enabled: false } } })
      const off = (await agentView(service, type)).servers.find(({ name }) => name === 'notes')
      expect(off, type).toMatchObject({ enabled: false, parked: type === 'cursor' })
      await done(service, 'PUT', `/${type}/servers`, {
        servers: { notes: { ...notes, env: { NOTES_TOKEN: '***' }, enabled: true } },
      })
      const on = (await agentView(service, type)).servers.find(({ name }) => name === 'notes')
      expect(on, type).toMatchObject({ parked: false })
      expect(on?.enabled, type).not.toBe(false)
    }
    expect(textOf(home, '.cursor/mcp.json')).toContain('s3cret-notes')
  })

  test('a transport that the agent does not support is refused with an explanation', async () => {
    const { service } = await houseWith({ [DESKTOP]: '{}' })
    const remote = { servers: { docs: { url: 'https://docs.example/mcp' } } }
    const refused = await agents<{ detail: string }>(service, 'PUT', '/claude-desktop/servers', remote)
    expect(refused).toMatchObject({ status: 422, body: { code: 'not_supported' } })
    expect(refused.body.detail).toMatch(/Claude Desktop/)
  })

  test('GET lists the HTTP servers of an agent and POST adds one', async () => {
    covers('agents-http-servers')
    const { service } = await houseWith({ '.claude.json': CLAUDE })
    const docs = { name: 'docs', url: 'https://docs.example/mcp?key=s3cret', headers: { 'X-Key': 's3cret' } }
    await done(service, 'POST', '/claude-code/http-servers', docs)
    const { items } = await done<{ items: object[] }>(service, 'GET', '/claude-code/http-servers')
    expect(items).toMatchObject([
      { name: 'docs', type: 'http', url: 'https://docs.example/mcp?key=***', headers: { 'X-Key': '***' } },
    ])
  })
})

describe('safety', () => {
  test('a stale revision changes nothing', async () => {
    const { service, home } = await houseWith({ '.claude.json': CLAUDE })
    const { revision } = await agentView(service, 'claude-code')
    put(home, '.claude.json', `${CLAUDE}\n`)
    const stale = await agents(service, 'PUT', '/claude-code/servers', { servers: { notes }, revision })
    expect(stale).toMatchObject({ status: 409, body: { code: 'config_changed' } })
    expect(textOf(home, '.claude.json')).toBe(`${CLAUDE}\n`)
  })

  const refusing = sharedByTests(() => houseWith())

  test.each([
    ['.claude.json', 'claude-code', '{\n  "mcpServers": {\n    // no comments here\n  }\n}', 3],
    ['.claude.json', 'claude-code', '{"mcpServers": {}, "mcpServers": {}}', 1],
    ['.codex/config.toml', 'codex', 'a = 1\na = 2\n', 2],
    [GOOSE, 'goose', 'extensions: [\n', 1],
    ['.cursor/mcp.json', 'cursor', '[]', 1],
  ])(
    '%s of %s that cannot be edited is answered with 409, line and column, and stays unchanged',
    async (path, type, text, line) => {
      const { service, home } = await refusing()
      put(home, path, text)
      const refused = await agents<{ line: number; column: number }>(service, 'PUT', `/${type}/servers`, {
        servers: { notes },
      })
      expect(refused).toMatchObject({ status: 409, body: { code: 'config_unparsable' } })
      expect(refused.body.line).toBeGreaterThanOrEqual(line)
      expect(refused.body.column).toBeGreaterThan(0)
      expect(textOf(home, path)).toBe(text)
    },
  )

  const attempt = async (service: TestService) => {
    const { status, body } = await agents<{ code: string }>(service, 'PUT', '/claude-code/servers', {
      servers: { notes },
    })
    return [status, body.code]
  }

  test.runIf(mayLink)('a file that is linked out of the home is refused', async () => {
    const { service, home } = await houseWith()
    const outside = join(ownFolder(), 'elsewhere.json')
    writeFileSync(outside, '{}')
    symlinkSync(outside, join(home, '.claude.json'))
    expect(await attempt(service)).toEqual([409, 'config_unsafe'])
    expect(textOf(home, '.claude.json')).toBe('{}')
  })

  test('a file that is read-only, foreign, hard-linked or too large is refused', async () => {
    const { service, home } = await houseWith({ '.claude.json': CLAUDE })
    const file = join(home, '.claude.json')
    chmodSync(file, 0o444)
    expect(await attempt(service)).toEqual([409, 'config_read_only'])
    chmodSync(file, 0o644)
    writeFileSync(file, `{"a": "${'x'.repeat(10 * 1024 * 1024)}"}`)
    expect(await attempt(service)).toEqual([413, 'config_too_large'])
    writeFileSync(file, CLAUDE)
    linkSync(file, join(home, 'other-name.json'))
    expect(await attempt(service)).toEqual([409, 'config_unsafe'])
    unlinkSync(join(home, 'other-name.json'))
    if (process.getuid?.() === 0) {
      chownSync(file, 12_345, 12_345)
      expect(await attempt(service)).toEqual([409, 'config_unsafe'])
    }
    expect(textOf(home, '.claude.json')).toBe(CLAUDE)
  })

  test.runIf(mayLink)(
    'a symbolic link inside the home stays a link, and its target keeps its mode',
    async () => {
      const { service, home } = await houseWith({ 'dotfiles/claude.json': CLAUDE })
      chmodSync(join(home, 'dotfiles/claude.json'), 0o640)
      const { mode } = statSync(join(home, 'dotfiles/claude.json'))
      symlinkSync(join(home, 'dotfiles/claude.json'), join(home, '.claude.json'))
      await done(service, 'PUT', '/claude-code/servers', { servers: { notes } })
      expect(lstatSync(join(home, '.claude.json')).isSymbolicLink()).toBe(true)
      expect(textOf(home, 'dotfiles/claude.json')).toContain('notes-mcp')
      expect(statSync(join(home, 'dotfiles/claude.json')).mode).toBe(mode)
    },
  )

  test('a folder for a missing agent is created only on request, and a new file is private to its owner', async () => {
    const { service, home } = await houseWith()
    const refused = await agents(service, 'PUT', '/cursor/servers', { servers: { notes } })
    expect(refused).toMatchObject({ status: 409, body: { code: 'agent_not_installed' } })
    await done(service, 'PUT', '/cursor/servers', { servers: { notes }, create: true })
    expect(statSync(join(home, '.cursor/mcp.json')).mode & 0o777).toBe(PRIVATE_FILE)
  })

  test('invalid names and scopes are refused', async () => {
    const { service, home } = await houseWith({ '.claude.json': CLAUDE })
    const status = async (payload: object) =>
      (await agents(service, 'PUT', '/claude-code/servers', payload)).status
    expect(await status({ servers: { ['__proto__x'.slice(0, 9)]: notes } })).toBe(422)
    expect(await status({ servers: { notes }, scope: 'galaxy' })).toBe(422)
    expect(await status({ servers: { notes }, scope: 'project' })).toBe(422)
    expect(await status({ servers: { notes }, scope: 'project', project_path: join(home, 'absent') })).toBe(
      422,
    )
    expect(await status({ servers: { notes: { command: 'x', url: 'https://x' } } })).toBe(422)
    expect(await status({})).toBe(422)
    expect(await status({ server_ids: ['unknown'] })).toBe(404)
    mkdirSync(join(home, 'shop'))
    expect(await status({ servers: { notes }, scope: 'project', project_path: join(home, 'shop') })).toBe(200)
    const written = { ...notes, ...NPX_OF_CLAUDE }
    expect(JSON.parse(textOf(home, 'shop/.mcp.json')).mcpServers.notes).toMatchObject(written)
    expect(await status({ servers: { notes }, scope: 'local', project_path: join(home, 'shop') })).toBe(200)
    const { projects } = JSON.parse(textOf(home, '.claude.json'))
    const shop = join(home, 'shop').replaceAll('\\', '/') // Claude Code writes it so on Windows, too
    expect(projects[shop].mcpServers.notes).toMatchObject(written)
  })
})

describe('changes at the same time', () => {
  test('of 20 entries that are added at the same time, all are in the file and all are managed', async () => {
    const { service, home } = await houseWith({ '.claude.json': CLAUDE })
    const names = Array.from({ length: 20 }, (_, n) => `n${n}`)
    const replies = await Promise.all(
      names.map((name) => agents(service, 'PUT', '/claude-code/servers', { servers: { [name]: notes } })),
    )
    expect(replies.map(({ status }) => status)).toEqual(names.map(() => 200))
    const { servers } = await agentView(service, 'claude-code')
    const managed = servers.filter((entry) => entry.managed).map(({ name }) => name)
    expect(managed.sort()).toEqual(names.sort())
    expect((await done(service, 'DELETE', '/claude-code/servers')).removed.sort()).toEqual(names)
    expect(textOf(home, '.claude.json')).toBe(CLAUDE)
  })

  test.runIf(mayLink)(
    'changes through a symbolic link and of the file it leads to wait for each other',
    async () => {
      const { service, home } = await houseWith({ '.claude.json': CLAUDE, '.cursor/other.txt': '' })
      symlinkSync(join(home, '.claude.json'), join(home, '.cursor/mcp.json'))
      const types = ['claude-code', 'cursor', 'claude-code', 'cursor', 'claude-code', 'cursor']
      const replies = await Promise.all(
        types.map((type, n) => agents(service, 'PUT', `/${type}/servers`, { servers: { [`n${n}`]: notes } })),
      )
      expect(replies.map(({ status }) => status)).toEqual(types.map(() => 200))
      const { items } = (await service.inject('/api/agents')).json<{ items: AgentSummary[] }>()
      const managed = items.filter(({ agent_type }) => types.includes(agent_type))
      expect(managed.map(({ managed_count }) => managed_count)).toEqual([3, 3])
    },
  )

  test("a change that cannot be made in the agent's file leaves its second file unchanged", async () => {
    const { service, home } = await houseWith({
      '.copilot/mcp-config.json': '{}\n',
      '.copilot/settings.json': '{ "a": 1 }\n',
    })
    const off = { ...notes, enabled: false }
    chmodSync(join(home, '.copilot/mcp-config.json'), 0o444)
    const refused = await agents(service, 'PUT', '/github-copilot-cli/servers', { servers: { off } })
    expect(refused).toMatchObject({ status: 409, body: { code: 'config_read_only' } })
    expect(textOf(home, '.copilot/settings.json')).toBe('{ "a": 1 }\n')
  })
})

describe('dry run', () => {
  const off = { ...notes, enabled: false }
  const http = { name: 'docs', url: 'https://docs.example/mcp', enabled: false }
  /** The file in which each agent lists disabled servers: a second file, except for the last agent. */
  const SECOND = {
    'github-copilot-cli': '.copilot/settings.json',
    'gemini-cli': '.gemini/mcp-server-enablement.json',
    'rovo-dev': '.rovodev/config.yml',
    'claude-code': '.claude.json',
    codex: '.codex/config.toml',
  }

  test.each(Object.entries(SECOND))(
    'no request for a dry run writes any file of %s, not even %s',
    async (type, second) => {
      const { service, home } = await houseWith()
      mkdirSync(join(home, 'shop'))
      const where = type === 'claude-code' ? { scope: 'project', project_path: join(home, 'shop') } : {}
      const managed = { servers: { managed: off }, create: true, ...where }
      await done(service, 'PUT', `/${type}/servers`, managed)
      expect(textOf(home, second).length).toBeGreaterThan(0)
      await done(service, 'POST', `/${type}/connect`, where)
      await sleep(400) // until the service has looked for changes of its own
      const before = snapshot(home)
      const dry = { dry_run: true, ...where }
      const requests = [
        ['PUT', 'servers', { servers: { off }, ...dry }],
        ['PUT', 'servers', { servers: { managed: { ...notes, enabled: true } }, ...dry }],
        ['PUT', 'servers', { servers: { off }, mode: 'replace', ...dry }],
        ['PUT', 'servers', { via: 'gateway', ...dry }],
        ['DELETE', 'servers', dry],
        ['POST', 'http-servers', { ...http, ...dry }],
        ['POST', 'connect', dry],
        ['POST', 'disconnect', dry],
        ['POST', 'undo', dry],
      ] as const
      for (const [method, path, body] of requests) {
        const report = await done(service, method, `/${type}/${path}`, body)
        expect(report, path).toMatchObject({ dry_run: true, changed: true, backup_id: null })
        expect(snapshot(home), `${method} ${path}`).toEqual(before)
      }
      const { removed } = await done(service, 'DELETE', `/${type}/servers`, where)
      expect(removed.sort()).toEqual(['managed', 'toolroom'])
    },
  )

  const unwritten = sharedByTests(() => houseWith())

  test.each(['github-copilot-cli', 'gemini-cli', 'rovo-dev', 'claude-code'] as const)(
    'the dry run shows the difference of the second file of %s',
    async (type) => {
      const { service, home } = await unwritten()
      mkdirSync(join(home, 'shop'), { recursive: true })
      const where = type === 'claude-code' ? { scope: 'project', project_path: join(home, 'shop') } : {}
      const input = { servers: { off }, create: true, dry_run: true, ...where }
      const { diff } = await done(service, 'PUT', `/${type}/servers`, input)
      expect(diff).toContain(normalize(SECOND[type]))
      expect(filesBelow(home)).toEqual([])
    },
  )
})

describe('undo', () => {
  test('undo restores the exact bytes, a second undo goes back further, and the history shows both', async () => {
    const { service, home } = await houseWith({ '.claude.json': CLAUDE })
    await done(service, 'PUT', '/claude-code/servers', { servers: { notes } })
    const between = textOf(home, '.claude.json')
    await done(service, 'PUT', '/claude-code/servers', { servers: { other: { command: 'other' } } })
    const undone = await done(service, 'POST', '/claude-code/undo', {})
    expect(undone).toMatchObject({ changed: true, removed: ['other'] })
    expect(textOf(home, '.claude.json')).toBe(between)
    await done(service, 'POST', '/claude-code/undo', {})
    expect(textOf(home, '.claude.json')).toBe(CLAUDE)
    expect(await agents(service, 'POST', '/claude-code/undo', {})).toMatchObject({
      status: 409,
      body: { code: 'nothing_to_undo' },
    })
    const { items } = await done<{ items: HistoryItem[] }>(service, 'GET', '/claude-code/history')
    expect(items.map(({ action, names }) => [action, names])).toEqual([
      ['undo', ['notes']],
      ['undo', ['other']],
      ['set', ['other']],
      ['set', ['notes']],
    ])
    await done(service, 'POST', '/claude-code/undo', { backup_id: items[0]?.id })
    expect(textOf(home, '.claude.json')).toBe(between)
  })

  test('undo removes a file that Toolroom created, and overwrites a foreign change only on request', async () => {
    const { service, home } = await houseWith({ '.cursor/other.txt': '' })
    await done(service, 'PUT', '/cursor/servers', { servers: { notes } })
    put(home, '.cursor/mcp.json', '{ "mcpServers": {} }')
    expect(await agents(service, 'POST', '/cursor/undo', {})).toMatchObject({
      status: 409,
      body: { code: 'config_changed' },
    })
    const { items } = await done<{ items: HistoryItem[] }>(service, 'GET', '/cursor/history')
    await done(service, 'POST', '/cursor/undo', { backup_id: items[0]?.id })
    expect(() => textOf(home, '.cursor/mcp.json')).toThrow('ENOENT')
  })
})

describe('clean removal', () => {
  const emptied = sharedByTests(() => houseWith())

  test.each(['gemini-cli', 'github-copilot-cli', 'claude-code', 'codex', 'goose'])(
    'removing all managed entries of %s restores its files exactly, switches included',
    async (type) => {
      const { service, home } = await emptied()
      const off = { ...notes, enabled: false }
      await done(service, 'PUT', `/${type}/servers`, { servers: { notes, off }, create: true })
      expect(filesBelow(home).length).toBeGreaterThan(0)
      await done(service, 'DELETE', `/${type}/servers`)
      expect(filesBelow(home)).toEqual([])
    },
  )

  test('undo also restores the file that lists disabled servers', async () => {
    const { service, home } = await houseWith({
      '.copilot/mcp-config.json': '{}\n',
      '.copilot/settings.json': '{ "a": 1 }\n',
    })
    const off = { ...notes, enabled: false }
    const report = await done(service, 'PUT', '/github-copilot-cli/servers', { servers: { off } })
    expect(report.diff).toContain('settings.json')
    expect(textOf(home, '.copilot/settings.json')).toContain('"off"')
    await done(service, 'POST', '/github-copilot-cli/undo', {})
    expect(textOf(home, '.copilot/mcp-config.json')).toBe('{}\n')
    expect(textOf(home, '.copilot/settings.json')).toBe('{ "a": 1 }\n')
  })
})

describe('drift', () => {
  test('a foreign change of a managed entry is published and listed as drift, and not repaired', async () => {
    const { service, home } = await houseWith({ '.cursor/mcp.json': '{}' })
    await done(service, 'PUT', '/cursor/servers', { servers: { notes, other: { command: 'other' } } })
    await sleep(250)
    const heard: unknown[] = []
    const socket = new WebSocket(`${service.address.replace('http', 'ws')}/api/ws/metrics`)
    onTestFinished(() => socket.terminate())
    socket.on('message', (data) => {
      const { type, data: told } = JSON.parse(String(data))
      if (type === 'agent_changed') heard.push(told)
    })
    await once(socket, 'open')
    const theirs = JSON.stringify({ mcpServers: { notes: { command: 'evil' } } })
    put(home, '.cursor/mcp.json', theirs)
    await expect
      .poll(() => heard)
      .toMatchObject([
        {
          agent_type: 'cursor',
          by: 'other',
          drift: [
            { name: 'notes', verdict: 'external_edit' },
            { name: 'other', verdict: 'entry_removed' },
          ],
        },
      ])
    expect((await agentView(service, 'cursor')).drift).toHaveLength(2)
    expect(textOf(home, '.cursor/mcp.json')).toBe(theirs)
    expect(JSON.stringify(heard)).not.toContain('evil')
  })
})

describe('import', () => {
  test('the scan counts agents, entries and different servers, and the import registers equal entries once', async () => {
    const shared = { command: 'npx', args: ['-y', 'shared-mcp'] }
    const { service, home } = await houseWith({
      '.claude.json': JSON.stringify({
        mcpServers: {
          shared: { type: 'stdio', ...shared },
          docs: { type: 'http', url: 'https://docs.example/mcp' },
        },
      }),
      '.cursor/mcp.json': JSON.stringify({
        mcpServers: {
          'my shared': shared,
          docs: { command: 'other-docs', env: { A: `\${env:A}` } },
          broken: { nothing: 1 },
        },
      }),
    })
    const scan = await done<Scan>(service, 'GET', '/scan')
    expect(scan).toMatchObject({ agents_found: 2, entries: 5, different_servers: 3, not_registered: 3 })
    const dry = await done<ImportReport>(service, 'POST', '/import', { dry_run: true })
    const entry = { agent_type: 'cursor', scope: 'user', project: null, name: 'docs' }
    const docs = dry.items.find(({ name }) => name === 'docs-cursor')
    expect(docs?.found_in).toEqual([entry])
    const allow_outgoing = docs?.outgoing.map(({ allowed: _, ...named }) => named)
    const trial = { ...entry, allow_outgoing }
    const tried = await done<EntryTrial>(service, 'POST', '/import/trial', trial)
    expect(tried).toMatchObject({ ok: false, tool_count: null, error: { code: 'missing_setting' } })
    const digest = docs?.digest
    expect((await agents(service, 'POST', '/import/trial', { ...trial, digest })).status).toBe(200)
    const other = { ...entry, digest: dry.items[0]?.digest }
    expect(await agents(service, 'POST', '/import/trial', other)).toMatchObject({
      status: 409,
      body: { code: 'config_changed' },
    })
    const gone = { ...entry, name: 'gone' }
    expect((await agents(service, 'POST', '/import/trial', gone)).status).toBe(404)
    expect((await service.inject('/api/servers')).json().total).toBe(0)
    const report = await done<ImportReport>(service, 'POST', '/import', {})
    expect(report.items.map(({ name, outcome }) => [name, outcome])).toEqual(
      dry.items.map(({ name, outcome }) => [name, outcome]),
    )
    expect(report.items.map(({ name, outcome, found_in }) => [name, outcome, found_in.length])).toEqual([
      ['shared', 'created', 2],
      ['docs', 'created', 1],
      ['docs-cursor', 'created', 1],
      ['broken', 'refused', 1],
    ])
    expect(report.items[2]?.notes[0]).toContain('${')
    const again = await done<ImportReport>(service, 'POST', '/import', {})
    expect(again.items.map(({ outcome }) => outcome)).toEqual([
      'registered',
      'registered',
      'registered',
      'refused',
    ])
    expect(await done<Scan>(service, 'GET', '/scan')).toMatchObject({ not_registered: 0 })
    expect(textOf(home, '.cursor/mcp.json')).toContain('my shared')
    expect((await agentView(service, 'cursor')).servers[0]).toMatchObject({
      linked_server_id: 'shared',
      managed: false,
    })
  })

  test("a server of a repository's .mcp.json is approved if the user has let Claude Code start it; the repository itself approves nothing", async () => {
    const home = ownFolder()
    const shop = join(home, 'shop')
    const mcpServers = { one: { command: 'one' }, two: { command: 'two' }, three: { command: 'three' } }
    put(home, 'shop/.mcp.json', JSON.stringify({ mcpServers }))
    put(home, 'shop/.claude/settings.json', JSON.stringify({ enableAllProjectMcpServers: true }))
    const users = (more: object = {}) => {
      const projects = { [shop]: { enabledMcpjsonServers: ['one'], ...more } }
      put(home, '.claude.json', JSON.stringify({ projects, mcpServers: { mine: { command: 'mine' } } }))
    }
    users()
    const service = await openTestService({ home })
    const approved = async () => {
      const { items } = await done<ImportReport>(service, 'POST', '/import', { dry_run: true })
      return items.flatMap((item) => (item.approved ? [item.name] : [])).sort()
    }
    expect(await approved()).toEqual(['mine', 'one'])
    put(home, 'shop/.claude/settings.local.json', JSON.stringify({ enabledMcpjsonServers: ['two'] }))
    expect(await approved()).toEqual(['mine', 'one']) // the repository may contain this file, too
    const entry = { agent_type: 'claude-code', scope: 'project', project: shop, name: 'two' }
    expect(await agents(service, 'POST', '/import/trial', entry)).toMatchObject({
      status: 409,
      body: { code: 'entry_not_approved' },
    })
    expect((await agents(service, 'POST', '/import/trial', { ...entry, unapproved: true })).status).toBe(200)
    users({ hasTrustDialogAccepted: true })
    expect(await approved()).toEqual(['mine', 'one', 'two'])
    put(home, '.claude/settings.json', JSON.stringify({ enableAllProjectMcpServers: true }))
    expect(await approved()).toEqual(['mine', 'one', 'three', 'two'])
  })
})

/** Every file of agents with its bytes, inode and modification time, and every backup. */
function snapshot(home: string): Record<string, unknown> {
  const backups = readdirSync(join(home, 'data/backups'), { recursive: true }).map(String)
  const files = filesBelow(home).map((path) => {
    const { ino, mtimeMs, mode } = statSync(join(home, path))
    return [path, { ino, mtimeMs, mode, text: textOf(home, path) }] as const
  })
  return { ...Object.fromEntries(files), backups: backups.filter((path) => path.startsWith('agents')).sort() }
}

/** The files of agents, without those of Toolroom. */
function filesBelow(home: string): string[] {
  return readdirSync(home, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(home, join(entry.parentPath, entry.name)).replaceAll('\\', '/'))
    .filter((path) => !path.startsWith('data/') && !path.startsWith('config/toolroom/'))
}
