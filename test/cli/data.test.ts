import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { DATA_COMMANDS } from '../../src/cli/commands/data-commands.ts'
import { ORPHAN_COMMANDS } from '../../src/cli/commands/server-commands.ts'
import { PROGRAM_COMMANDS } from '../../src/cli/commands/service-commands.ts'
import { checkCommands, cliEnv, runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { PRIVATE_FILE } from '../support/home-env.ts'
import { leaveBehind } from '../support/orphan.ts'
import { post, register } from '../support/running-servers.ts'
import { hasTmux, openTerminal } from '../support/terminal.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

const EMPTY_EXPORT = {
  format: 'toolroom-export',
  version: 1,
  exported_at: '2026-11-16T09:00:00.000Z',
  toolroom_version: '0.1.0',
  servers: [],
  named_secrets: [],
  agents: [],
  presets: [],
  secrets: null,
}

checkCommands(
  [...ORPHAN_COMMANDS, ...DATA_COMMANDS, ...PROGRAM_COMMANDS].map(({ name }) => name),
  openTestService,
  ({ home }) => ({
    orphans: { ok: [[]], fails: [['1'], 5] },
    'backup ls': { ok: [[]] },
    'backup restore': { ok: [['--all', '--dry-run']], fails: [[], 2] },
    export: { ok: [['-']], fails: [[home], 6] },
    import: { ok: [['-', '--dry-run']], stdin: JSON.stringify(EMPTY_EXPORT), fails: [['no-such-file'], 5] },
    'config get': { ok: [[], ['log_level']], fails: [['log_levle'], 5] },
    'config set': { ok: [['log_level', 'debug']], fails: [['log_level', 'loud'], 2] },
    'config path': { ok: [[]], isLocal: true },
    'token show': { ok: [[]], isLocal: true },
    'token rotate': { ok: [['--dry-run']], fails: [['--yes'], 6] },
    'secrets ls': { ok: [[]] },
    'secrets set': { ok: [['A_TOKEN']], stdin: 'a-value\n', fails: [['not a name'], 2] },
    'secrets rm': {
      ok: [
        ['A_TOKEN', '--dry-run'],
        ['A_TOKEN', '--yes'],
      ],
      fails: [['A_TOK', '--yes'], 5],
    },
    completion: { ok: [['bash'], ['powershell']], fails: [['csh'], 2], isLocal: true },
    docs: { ok: [['--no-browser']], fails: [['x'], 2] },
    version: { ok: [[]], isLocal: true },
  }),
)

test('a secret on stdin that is longer than 65,536 characters is refused, and nothing is stored', async () => {
  const service = await openTestService()
  const set = (value: string) => runCli(cliEnv(service), ['secrets', 'set', 'LONG'], value)
  const refused = await set('x'.repeat(65_537))
  expect(refused).toMatchObject({ code: 2, stdout: '' })
  expect(refused.stderr).toContain('The value is longer than 65536 characters')
  const stored = await service.inject({ url: '/api/secrets', headers: AUTHORISED })
  expect(stored.json()).toMatchObject({ total: 0 })
})

test('a secret is read from stdin and never shown, and an export with it can be imported with its passphrase', async () => {
  const service = await openTestService()
  const cli = (argv: readonly string[], stdin?: string) => runCli(cliEnv(service), argv, stdin)
  const file = join(service.home, 'export.json')
  await register(service, 'echo')

  const stored = await cli(['secrets', 'set', 'A_TOKEN'], 'a-secret-value\n')
  expect(stored).toEqual({ code: 0, stdout: 'Stored A_TOKEN\n', stderr: '' })
  expect((await cli(['secrets', 'set', 'B_TOKEN'], '')).stderr).toContain('No value was given')
  expect((await cli(['secrets', 'ls'])).stdout).toMatch(/^ {2}NAME.*\n {2}A_TOKEN +\d\d:\d\d:\d\d +-\n$/)
  const refused = await cli(['secrets', 'rm', 'A_TOKEN'])
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('Add --yes') })

  const dry = await cli(['export', file, '--dry-run'])
  expect(dry.stdout).toContain(`Would write ${file}: 1 server`)
  expect(existsSync(file)).toBe(false)
  const written = await cli(['export', file, '--include-secrets'], 'a long passphrase')
  expect(written.stdout).toMatch(/^Wrote .*: 1 server, .*, secrets, encrypted\n$/)
  expect(statSync(file).mode & 0o777).toBe(PRIVATE_FILE)
  expect(readFileSync(file, 'utf8')).not.toContain('a-secret-value')

  await service.inject({ method: 'DELETE', url: '/api/servers/echo', headers: AUTHORISED })
  expect(await cli(['import', file], 'another passphrase')).toMatchObject({ code: 2 })
  const imported = await cli(['import', file], 'a long passphrase')
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringMatching(/^created +server echo/m) })
  writeFileSync(file, '{}')
  expect((await cli(['import', file])).stderr).toContain('is not a file from toolroom export')
})

test('an export does not replace a file unless it is told to', async () => {
  const service = await openTestService()
  const file = join(service.home, 'mine.json')
  writeFileSync(file, 'mine')
  const cli = (...argv: string[]) => runCli(cliEnv(service), ['export', file, ...argv])
  expect(await cli()).toMatchObject({ code: 6, stderr: expect.stringContaining(`${file} exists`) })
  expect(await cli('--dry-run')).toMatchObject({ code: 6 })
  expect(readFileSync(file, 'utf8')).toBe('mine')
  expect(await cli('--force')).toMatchObject({ code: 0 })
  expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({ format: 'toolroom-export' })
})

test('config set says when a restart is needed, and backup restore shows the difference before it writes', async () => {
  const service = await openTestService()
  const cli = async (...argv: string[]) => (await runCli(cliEnv(service), argv)).stdout
  expect(await cli('config', 'set', 'log_level', 'debug', '--dry-run')).toMatch(
    /^Would change log_level from info to debug\n/,
  )
  expect(await cli('config', 'set', 'allowed_hosts', 'a.lan,b.lan')).toMatch(
    /^allowed_hosts is a\.lan,b\.lan/,
  )
  expect(await cli('config', 'get', 'ALLOWED_HOSTS')).toBe('a.lan,b.lan\n')
  expect(await cli('config', 'set', 'allowed_hosts', '--default')).toMatch(/^allowed_hosts is -/)
  expect(await cli('config', 'path', '--plain')).toContain(`Settings\t${join(service.data, 'config.json')}\n`)
  expect(await cli('version')).toMatch(/^Toolroom \d.*\nService \d\S* at http/)

  const file = join(service.home, '.cursor', 'mcp.json')
  const before = '{ "mcpServers": { "mine": { "command": "mine" } } }'
  mkdirSync(join(service.home, '.cursor'))
  writeFileSync(file, before)
  await post(service, '/api/agents/cursor/connect', {})
  expect(readFileSync(file, 'utf8')).toContain('toolroom')
  expect(await cli('backup', 'ls')).toMatch(/cursor +set /)
  expect(await cli('backup', 'restore', 'curs', '--dry-run')).toMatch(/^✓ cursor .*\n(?:.*\n)*-.*toolroom/)
  const unasked = await runCli(cliEnv(service), ['backup', 'restore', '--all']) // nobody can be asked
  expect(unasked).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  expect(readFileSync(file, 'utf8')).toContain('toolroom')
  expect(await cli('backup', 'restore', '--all', '--yes')).toMatch(/^✓ cursor/)
  expect(readFileSync(file, 'utf8')).toBe(before)
})

test.skipIf(process.platform === 'win32')(
  'orphans lists a process whose agent has ended, and ends the chosen one only after a confirmation',
  async () => {
    const service = await openTestService()
    const { pid, script } = await leaveBehind()
    const cli = (...argv: string[]) => runCli(cliEnv(service), ['orphans', ...argv])
    expect((await cli(String(pid))).stdout).toMatch(new RegExp(`^ {2}PID.*\\n {2}${pid} .*${script}\\n$`))
    expect(await cli(String(pid), '--end')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--yes'),
    })
    expect((await cli(String(pid), '--end', '--dry-run')).code).toBe(0)
    expect(process.kill(pid, 0)).toBe(true)
    expect(await cli(String(pid), '--end', '--yes')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('✓'),
    })
    expect((await cli(String(pid))).code).toBe(5)
  },
)

test.runIf(hasTmux)(
  'on a terminal, secrets set asks for the value and does not show it; Backspace works, and Ctrl-C stores nothing',
  async () => {
    const service = await openTestService()
    const { start, shows, press, screen } = openTerminal(cliEnv(service))
    start('secrets set A_TOKEN')
    await shows('Value of A_TOKEN (not shown):')
    press('hidden-valueX', 'BSpace', 'Enter')
    await shows(/\nStored A_TOKEN\n[\s\S]*code 0\n/)
    expect(screen()).not.toContain('hidden')
    await register(service, 'echo', [], { env: { A_TOKEN: `\${secret:A_TOKEN}` } })
    const shown = await service.inject({ url: '/api/secrets', headers: AUTHORISED })
    expect(shown.json()).toMatchObject({ items: [{ name: 'A_TOKEN', used_by: ['echo'] }] })

    start('secrets set B_TOKEN')
    await shows('Value of B_TOKEN (not shown):')
    press('secret', 'C-c')
    await shows(/code 130\n/)
    press('echo typed', 'Enter')
    await shows(/[#$] echo typed\ntyped\n/) // the terminal shows again what is typed
    expect((await service.inject({ url: '/api/secrets', headers: AUTHORISED })).json().items).toHaveLength(1)
  },
)

test('token rotate replaces the token: the next command uses the new one, and the old one is refused', async () => {
  const home = ownFolder()
  const cli = (...argv: string[]) => runCli({ HOME: home, PORT: '0' }, argv)
  onTestFinished(async () => void (await cli('down')))
  expect((await cli('up', '--detach')).code).toBe(0)
  const before = (await cli('token', 'show')).stdout.trim()
  const refused = await cli('token', 'rotate')
  expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  const { code, stdout } = await cli('token', 'rotate', '--yes')
  expect({ code, isNew: stdout.trim() !== before }).toEqual({ code: 0, isNew: true })
  expect((await cli('token', 'show')).stdout).toBe(stdout)
  expect((await cli('secrets', 'ls')).code).toBe(0)
  const old = await runCli({ HOME: home, AUTH_TOKEN: before }, ['secrets', 'ls'])
  expect(old).toMatchObject({ code: 4 })
})
