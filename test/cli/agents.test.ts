import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { post, register } from '../support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../support/test-service.ts'

const SECRET = 'ghp_Cli0123456789abcdefghijABCDEFGHIJ01'
const CURSOR = `{
  "theme": "mine",
  "mcpServers": {
    "other": { "command": "node", "args": ["-e", "0"], "env": { "GITHUB_TOKEN": "${SECRET}" } }
  }
}
`

/** Two agents, one with a secret in its file, and one whose file is broken. */
async function seeded(): Promise<TestService> {
  const home = ownFolder()
  mkdirSync(join(home, '.cursor'))
  writeFileSync(join(home, '.cursor', 'mcp.json'), CURSOR)
  mkdirSync(join(home, '.codex'))
  writeFileSync(join(home, '.codex', 'config.toml'), 'model = "o4"\n')
  mkdirSync(join(home, 'config', 'zed'), { recursive: true })
  writeFileSync(join(home, 'config', 'zed', 'settings.json'), '{\n  "a": 1\n  "b": 2\n}\n')
  const service = await openTestService({ home })
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  await service.inject({
    method: 'PUT',
    url: '/api/presets/work',
    headers: AUTHORISED,
    payload: { servers: ['echo'] },
  })
  return service
}

const OWN = [
  ...namesIn('Agents').filter((name) => name !== 'connect'),
  ...namesIn('Care').filter((name) => name.startsWith('presets ')),
]

checkCommands(OWN, seeded, () => ({
  agents: { ok: [[], ['--all']], fails: [['nothing'], 2], isLocal: true },
  'agents show': { ok: [['cursor'], ['curs']], fails: [['cursro'], 5] },
  'agents diff': { ok: [['cursor'], ['codex']], fails: [['zzz'], 5] },
  'agents connect': {
    ok: [
      ['cursor', '--dry-run'],
      ['cursor', '--yes'],
    ],
    fails: [['codex'], 2],
  },
  'agents disconnect': {
    ok: [
      ['cursor', '--dry-run'],
      ['cursor', '--yes'],
    ],
    fails: [['zzz'], 5],
  },
  'agents restore': {
    ok: [
      ['cursor', '--dry-run'],
      ['cursor', '--yes'],
    ],
    fails: [['zzz'], 5],
  },
  'agents apply': {
    ok: [
      ['cursor', 'work', '--dry-run'],
      ['cursor', 'work', '--yes'],
    ],
    fails: [['cursor', 'wrok'], 5],
  },
  enable: {
    ok: [
      ['echo', '--in', 'codex', '--dry-run'],
      ['echo', '--in', 'codex', '--yes'],
    ],
    fails: [['echo'], 2],
  },
  disable: {
    ok: [
      ['echo', '--in', 'codex', '--dry-run'],
      ['echo', '--in', 'codex', '--yes'],
    ],
    fails: [['echo', '--in', 'zzz'], 5],
  },
  'presets ls': { ok: [[], []], fails: [['x'], 2] },
  'presets save': {
    ok: [
      ['mine', '--servers', 'echo', '--dry-run'],
      ['mine', '--from', 'cursor'],
    ],
    fails: [['mine'], 2],
  },
  'presets apply': {
    ok: [
      ['work', 'cursor', '--dry-run'],
      ['work', 'cursor', '--yes'],
    ],
    fails: [['wrok', 'cursor'], 5],
  },
  'presets rm': {
    ok: [
      ['work', '--dry-run'],
      ['work', '--yes'],
    ],
    fails: [['mine'], 2],
  },
}))

test('agents are shown with their files, connected with a diff and a backup, and restored byte for byte (docs/checks.md, promise 2)', async () => {
  const service = await seeded()
  const env = cliEnv(service)
  const cli = (...argv: string[]) => runCli(env, argv)
  const file = join(service.home, '.cursor', 'mcp.json')

  const listed = (await cli('agents')).stdout
  expect(listed).toMatch(/^ {2}AGENT +ENTRIES +VIA +TOOLS +~TOKENS +FILE/)
  expect(listed).toMatch(/^ {2}cursor +1 +.*~[\\/]\.cursor[\\/]mcp\.json/m)
  expect(listed).toMatch(/^ {2}zed .*! line 3, column 3: Invalid JSON: /m)
  const shown = await cli('agents', 'show', 'cursor')
  expect(shown.stdout).toMatch(/^Cursor\n {2}user {2}~[\\/]\.cursor[\\/]mcp\.json\n/)
  expect(shown.stdout).toMatch(/^ {2}other +stdio +● on +user/m)

  const plan = await cli('agents', 'connect', 'cursor', '--dry-run')
  expect(plan.stdout).toMatch(
    /^~[\\/]\.cursor[\\/]mcp\.json\n(?:.*\n)*\+.*"toolroom"(?:.*\n)*Nothing was written \(--dry-run\)\.\n$/,
  )
  expect(readFileSync(file, 'utf8')).toBe(CURSOR)
  const refused = await cli('agents', 'connect', 'cursor')
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') })
  expect(readFileSync(file, 'utf8')).toBe(CURSOR)
  // It keeps its one server, which Toolroom does not have, and gains none; with --all it would gain all.
  expect(plan.stdout).toMatch(/^ {2}Servers {6}1 → 1$/m)
  expect(plan.stdout).toMatch(/^ {2}Stays {8}other: as in the file now$/m)
  expect(plan.stdout).toMatch(/^ {2}Not added {4}\d+ other servers?$/m)
  const all = await cli('agents', 'connect', 'cursor', '--all', '--dry-run')
  expect(all.stdout).toMatch(/^ {2}Servers {6}1 → \d+, and all that are added later$/m)
  expect(all.stdout).toMatch(/^ {2}It gains {5}.*\becho\b/m)
  const written = await cli('agents', 'connect', 'cursor', '--yes')
  expect(written.stdout).toMatch(/^✓ cursor {2}~[\\/]\.cursor[\\/]mcp\.json\. \S/)
  expect(readFileSync(file, 'utf8')).toContain('"theme": "mine"')

  // Through the gateway, a switch writes no file.
  const connected = readFileSync(file, 'utf8')
  expect((await cli('disable', 'echo', '--in', 'cursor')).stdout).toBe('○ cursor  nothing to change\n')
  expect((await cli('enable', 'echo', '--in', 'cursor')).stdout).toBe(
    '✓ cursor  sees echo through the gateway\n',
  )
  expect((await cli('disable', 'echo', '--in', 'cursor')).stdout).toBe(
    '✓ cursor  no longer sees echo through the gateway\n',
  )
  expect((await cli('enable', 'echo', '--in', 'cursor')).stdout).toBe(
    '✓ cursor  sees echo through the gateway\n',
  )
  expect(readFileSync(file, 'utf8')).toBe(connected)
  // Who sees a new server is said, and can be named.
  const added = await cli('add', 'late', '--agents', 'cursor', '--json', '--', 'node')
  expect(JSON.parse(added.stdout)).toMatchObject({ id: 'late', used_by_agents: ['cursor'] })
  expect((await cli('add', 'later', '--', 'node')).stdout).toMatch(/^ {2}agents No agent sees it yet\./m)
  // Directly, it changes the file, which needs a yes.
  const asked = await cli('enable', 'echo', '--in', 'codex')
  expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') })
  expect(asked.stderr).toContain('+[mcp_servers.echo]')
  expect((await cli('enable', 'echo', '--in', 'codex', '--yes')).stdout).toMatch(
    /^✓ codex {2}~[\\/]\.codex[\\/]config\.toml/,
  )
  const toml = join(service.home, '.codex', 'config.toml')
  expect(readFileSync(toml, 'utf8')).toContain('[mcp_servers.echo]')
  expect((await cli('disable', 'echo', '--in', 'codex', '--dry-run')).stdout).toMatch(
    /^-\[mcp_servers\.echo\]$/m,
  )
  expect((await cli('disable', 'echo', '--in', 'codex', '--yes')).code).toBe(0)
  expect(readFileSync(toml, 'utf8')).toBe('model = "o4"\n')
  const some = await cli('enable', 'echo', '--in', 'codex,zed', '--yes', '--json')
  expect(some.code).toBe(9)
  expect(JSON.parse(some.stdout).items).toContainEqual(
    expect.objectContaining({
      agent_type: 'zed',
      error: expect.objectContaining({ code: expect.any(String) }),
    }),
  )

  expect((await cli('agents', 'restore', 'cursor', '--yes')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(CURSOR)
  for (const { stdout, stderr } of [shown, plan, refused, written])
    expect(stdout + stderr).not.toContain(SECRET)
})

test('agents diff shows what another program has changed, and --keep keeps one version with a dry run and a question before', async () => {
  const service = await seeded()
  const env = cliEnv(service)
  const cli = (...argv: string[]) => runCli(env, ['agents', 'diff', 'cursor', ...argv])
  const file = join(service.home, '.cursor', 'mcp.json')
  const text = () => readFileSync(file, 'utf8')
  expect((await cli('--keep', 'toolroom')).stdout).toMatch(/^No other program has changed/)
  await runCli(env, ['enable', 'echo', '--in', 'cursor', '--yes'])
  const written = text()
  const theirs = written.replace('echo.mjs', 'evil.mjs')
  writeFileSync(file, theirs)

  const shown = await cli()
  expect(shown.stdout).toMatch(/^- .*evil\.mjs/m)
  expect(shown.stdout).toMatch(/^\+ .*echo\.mjs/m)
  expect(shown.stdout).toContain('toolroom agents diff cursor --keep file\n')
  expect((await cli('--keep', 'toolroom', '--dry-run')).stdout).toContain('Nothing was written (--dry-run).')
  const dry = await cli('--keep', 'file', '--dry-run')
  expect(dry.stdout).toMatch(/mcp\.json: echo would stay as in the file\nNothing was changed/)
  for (const version of ['toolroom', 'file']) {
    expect(await cli('--keep', version)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    expect(text()).toBe(theirs)
  }
  expect((await cli('--keep', 'toolroom', '--yes')).stdout).toMatch(/^✓ cursor /)
  expect(text()).toBe(written)
  writeFileSync(file, theirs)
  expect((await cli('--keep', 'file', '--yes')).stdout).toMatch(/mcp\.json: echo stays as in the file\n$/)
  expect(text()).toBe(theirs)
  expect((await cli('--keep', 'file')).stdout).toMatch(/^No other program has changed/)
})
