import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { MAIN } from '../support/bridge.ts'
import { checkCommands, cliEnv, runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { leftAfter } from '../support/marked-processes.ts'
import { houseWithRegistry, npmEnv } from '../support/packages.ts'
import { openRegistry } from '../support/registry/registry.ts'
import { get, register } from '../support/running-servers.ts'

checkCommands(
  ['doctor'],
  async () => (await houseWithRegistry([])).service,
  () => ({ doctor: { ok: [[], ['--fix', '--dry-run']], fails: [['path'], 2], isLocal: true } }),
)

// Windows has no login shell, and no modes of files.
test.skipIf(process.platform === 'win32')(
  'doctor names the server that needs a missing program and the line of a broken file, and --fix repairs only what can be undone (docs/checks.md, every command)',
  async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    vi.stubEnv('TERM', 'xterm') // a service in a terminal does not look for programs in the login shell's PATH
    vi.stubEnv('SHELL', '/bin/sh')
    const { service, home } = await houseWithRegistry([], {}, { search: 'off' })
    vi.stubEnv('HOME', home)
    const tools = join(home, 'tools')
    mkdirSync(tools)
    writeFileSync(join(tools, 'notes-mcp'), '#!/bin/sh\n')
    chmodSync(join(tools, 'notes-mcp'), 0o755)
    writeFileSync(join(home, '.profile'), `export PATH="$PATH:${tools}"\n`)
    await register(service, 'echo')
    await register(service, 'echo', [], { name: 'time', command: 'uvx-of-nowhere' })
    await register(service, 'echo', [], { name: 'notes', command: 'notes-mcp' })
    mkdirSync(join(home, 'config', 'zed'), { recursive: true })
    writeFileSync(join(home, 'config', 'zed', 'settings.json'), '{\n  "a": 1\n  "b": 2\n}\n')
    const settings = join(service.data, 'config.json')
    writeFileSync(settings, '{}', { mode: 0o644 })
    const TMPDIR = ownFolder()
    const [left, young] = ['toolroom-temporary-aaaaaa', 'toolroom-temporary-bbbbbb'].map((name) =>
      join(TMPDIR, name),
    )
    for (const folder of [left, young]) mkdirSync(folder ?? '')
    utimesSync(left ?? '', 1, 1)
    const env = { ...cliEnv(service), TMPDIR }
    const doctor = (...argv: string[]) => runCli(env, ['doctor', ...argv])

    const { code, stdout } = await doctor('--online')
    expect(code).toBe(1)
    const lines = stdout.split('\n')
    expect(lines[0]).toMatch(/^Toolroom {3}✓ service \d.* at http:\S+, process \d+, \d+M/)
    expect(stdout).toContain('✓ database, logs and disk')
    expect(stdout).toMatch(/^Runtimes {3}✓ node \d+\.\S+ {3}✓ npm {3}✓ npx/m)
    expect(stdout).toMatch(/^ {11}✕ uvx-of-nowhere was not found \(needed by time\)\. \S/m)
    expect(stdout).toContain(
      `           ✕ Only your login shell finds notes-mcp, at ${tools}/notes-mcp (needed by notes)\n`,
    )
    expect(stdout).toMatch(/^Registry {3}✓ npm registry answers\n {11}! It offers no search/m)
    expect(stdout).toMatch(
      /^Agents .*✕ zed: ~\/config\/zed\/settings\.json .*line 3, column 3: .*comma is missing +see: toolroom agents show zed$/m,
    )
    expect(stdout).toMatch(/^Processes {2}/m)
    expect(lines.at(-2)).toMatch(/^3 problems, \d hints\. toolroom doctor --fix can repair 3 of them\.$/)

    const dry = await doctor('--fix', '--dry-run')
    expect(dry.stdout).toContain(
      `Would set the command of notes to ${tools}/notes-mcp. Undo: toolroom edit notes --command notes-mcp\n`,
    )
    expect(dry.stdout).toContain(
      `Would allow only your user to open ${settings}. Undo: chmod 644 '${settings}'\n`,
    )
    expect(dry.stdout).toContain(`Would delete ${left}. Undo: not needed, nothing uses it\n`)
    expect(dry.stdout).toContain('Nothing was changed (--dry-run).\n')
    expect((await get(service, 'notes')).command).toBe('notes-mcp')
    expect(statSync(settings).mode & 0o777).toBe(0o644)

    const fixed = await doctor('--fix', '--json')
    expect(fixed.code).toBe(1)
    const report = JSON.parse(fixed.stdout)
    expect(report).toMatchObject({ ok: false, running: true, dry_run: false, problems: 2 })
    expect(report.sections.map(({ name }: { name: string }) => name)).toEqual([
      'Toolroom',
      'Runtimes',
      'Isolation',
      'Agents',
      'Processes',
    ])
    expect(report.fixes).toHaveLength(3)
    for (const fix of report.fixes)
      expect(fix).toMatchObject({ done: true, error: null, undo: expect.any(String) })
    expect((await get(service, 'notes')).command).toBe(`${tools}/notes-mcp`)
    expect(statSync(settings).mode & 0o777).toBe(0o600)
    expect([left, young].map((folder) => existsSync(folder ?? ''))).toEqual([false, true])
    expect(readFileSync(join(home, 'config', 'zed', 'settings.json'), 'utf8')).toContain('"b": 2')
    // What it printed takes it back.
    await runCli(env, ['edit', 'notes', '--command', 'notes-mcp'])
    expect((await doctor('--fix', '--dry-run')).stdout).toContain('Would set the command of notes')
  },
)

test.skipIf(process.platform === 'win32')(
  'doctor says where servers can run, and a server that cannot have its confinement is a problem with its remedy',
  async () => {
    onTestFinished(() => void vi.unstubAllEnvs())
    const programs = ownFolder()
    const refusing = join(programs, 'bwrap')
    writeFileSync(refusing, '#!/bin/sh\necho "bwrap: No permissions" >&2\nexit 1\n', { mode: 0o755 })
    vi.stubEnv('PATH', `${programs}:${process.env.PATH}`)
    vi.stubEnv('DOCKER_HOST', 'unix:///nowhere/engine.sock')
    const { service } = await houseWithRegistry([])
    const isolation = async () => {
      const { stdout } = await runCli({ ...cliEnv(service), TMPDIR: ownFolder() }, ['doctor'])
      return stdout.slice(stdout.indexOf('Isolation'), stdout.indexOf('Agents'))
    }
    expect(await isolation()).toMatch(
      /^Isolation {2}- sandbox: .*bwrap: No permissions.* \(not needed\)\n {11}- containers: .*\/nowhere\/engine\.sock.* \(not needed\)\n$/,
    )
    await register(service, 'echo', [], { isolation: 'sandbox' })
    await register(service, 'echo', [], { name: 'boxed', ...BOXED })
    expect(await isolation()).toMatch(
      /^Isolation {2}✕ sandbox: .* \(needed by echo\)\. \S.*\n {11}✕ containers: .* \(needed by boxed\)\. \S.*\n$/,
    )
  },
)
const BOXED = { isolation: 'container', isolation_options: { image: 'tiny' } }

test('doctor works without a service and says so, contacts the registry only with --online, and one that does not answer is a problem', async () => {
  const registry = await openRegistry([])
  onTestFinished(() => registry.close())
  const [home, TMPDIR] = [ownFolder(), ownFolder()]
  const env = { HOME: home, TMPDIR, ...npmEnv(home, registry.url) }
  const fine = await runCli(env, ['doctor'])
  expect(fine).toMatchObject({ code: 0, stderr: expect.stringContaining('Toolroom is not running') })
  expect(fine.stdout).toMatch(/^Toolroom {3}! The service is not running, .*see: toolroom up$/m)
  expect(fine.stdout).not.toContain('Registry')
  expect(registry.requests).toEqual([])
  expect((await runCli(env, ['doctor', '--online'])).stdout).toMatch(/^Registry .*✓ offers search$/m)
  expect(fine.stdout).toMatch(/^Isolation {2}/m)
  expect(fine.stdout).not.toContain('not needed')
  const alone = { ...env, ...npmEnv(home, 'http://127.0.0.1:9/') }
  const broken = await runCli(alone, ['doctor', '--online', '--json'])
  expect(broken.code).toBe(1)
  expect(JSON.parse(broken.stdout)).toMatchObject({ ok: false, running: false, problems: 1 })
  expect(readdirSync(TMPDIR)).toEqual([])
})

test.skipIf(process.platform === 'win32').each([
  ['agents', 'SIGINT', 130],
  ['agents', 'SIGTERM', 143],
  ['doctor --online', 'SIGINT', 130],
  ['doctor --online', 'SIGTERM', 143],
] as const)('%s that %s ends leaves no temporary folder and no process', async (command, signal, code) => {
  const [home, TMPDIR] = [ownFolder(), ownFolder()]
  const silent = await openRegistry([], { mcp: 'silent' }, { search: 'off' })
  onTestFinished(() => silent.close())
  const env = { PATH: process.env.PATH, HOME: home, TMPDIR, ...npmEnv(home, silent.url) }
  const child = spawn(process.execPath, [MAIN, ...command.split(' ')], { env, stdio: 'ignore' })
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close')
  // While its service starts, or while that service answers.
  const file = command === 'agents' ? '.toolroom' : 'instance.json'
  await vi.waitFor(
    () => {
      const [folder = ''] = readdirSync(TMPDIR)
      expect(readdirSync(join(TMPDIR, folder))).toContain(file)
    },
    { timeout: 60_000, interval: 10 },
  )
  child.kill(signal)
  expect(await closed).toEqual([code, null])
  expect(readdirSync(TMPDIR)).toEqual([])
  expect(await leftAfter(`TMPDIR=${TMPDIR}`)).toBe(0)
})
