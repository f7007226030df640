import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { VERSION } from '../../src/kernel/version.ts'
import { runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { hasTmux, openTerminal } from '../support/terminal.ts'

test('init shows a plan without a service, imports and connects with --yes, and everything can be taken back (docs/checks.md, the first run)', async () => {
  const home = ownFolder()
  const file = join(home, '.cursor', 'mcp.json')
  const before = '{"mcpServers":{"notes":{"command":"node","args":["-e","0"]}}}\n'
  mkdirSync(join(home, '.cursor'))
  writeFileSync(file, before)
  const cli = (...argv: string[]) => runCli({ HOME: home, PORT: '0' }, argv)
  onTestFinished(async () => void (await cli('down')))

  const planned = await cli('init', '--dry-run', '--connect', 'cursor')
  expect(planned).toMatchObject({ code: 0, stderr: expect.stringContaining('Toolroom is not running') })
  expect(planned.stdout).toMatch(/^Found 1 agent with 1 server entry \(1 different server\)\.$/m)
  expect(planned.stdout).toMatch(/^✓ would import notes {2}node -e 0$/m)
  expect(planned.stdout.trimEnd()).toMatch(/\nNothing was changed \(--dry-run\)\.$/)
  const refused = await cli('init', '--json')
  expect(refused.code).toBe(2)
  expect(JSON.parse(refused.stdout).hint).toMatch(/--yes.*--import.*--move-secrets.*--connect/)
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect((await cli('status')).code).toBe(3)

  const atLogin = process.platform === 'linux' ? ['--at-login'] : [] // elsewhere it would be installed
  const done = await cli('init', '--json', '--yes', '--connect', 'cursor', ...atLogin)
  expect(done.code).toBe(atLogin.length === 0 ? 0 : 9) // there is no session of systemd
  expect(JSON.parse(done.stdout)).toMatchObject({
    starts_at_login: false,
    imported: [{ name: 'notes', outcome: 'created' }],
    connected: [{ agent_type: 'cursor', changed: true }],
  })
  expect(readFileSync(file, 'utf8')).toContain('/mcp')
  expect((await cli('agents', 'restore', 'cursor', '--yes')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(before)

  // Without the service, a connected agent has no tools: doctor says so, and it can be disconnected.
  expect((await cli('agents', 'connect', 'cursor', '--yes')).code).toBe(0)
  expect((await cli('down')).code).toBe(0)
  const login = await cli('init', '--yes', '--connect', 'cursor')
  expect(login.stdout).toMatch(/^When Toolroom is not running, Cursor loses its tools until toolroom up$/m)
  expect((await cli('down')).stdout).not.toContain('starts it again')
  const doctor = await cli('doctor')
  expect(doctor.code).toBe(1)
  expect(doctor.stdout).toMatch(
    /✕ cursor: it gets its tools through Toolroom, which is not running {3}see: toolroom up, or/,
  )
  const parting = await cli('agents', 'disconnect', '--all', '--dry-run')
  expect(parting.stdout).toMatch(/^-.*"toolroom"/m)
  expect((await cli('agents', 'disconnect', '--all', '--yes')).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toBe(before)
  expect((await cli('agents', 'disconnect', '--all', '--yes')).stdout).toBe('No agent is connected.\n')
  expect((await cli('agents', 'disconnect')).code).toBe(2)
  expect((await cli('status')).code).toBe(3)
})

const SECRET = 'ghp_Init0123456789abcdefghijABCDEFGHIJ'

/** Two servers of Cursor, one of them with a secret, and Codex without any. */
function homeWithAgents() {
  const [home, TMPDIR] = [ownFolder(), ownFolder()]
  const node = { command: 'node', args: ['-e', '0'] }
  const [cursor, codex] = [join(home, '.cursor', 'mcp.json'), join(home, '.codex', 'config.toml')]
  const files = {
    [cursor]: `${JSON.stringify({ mcpServers: { hub: { ...node, env: { GITHUB_TOKEN: SECRET } }, notes: { ...node, args: ['-e', '1'] } } })}\n`,
    [codex]: 'model = "o4"\n',
  }
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, text)
  }
  const env = { HOME: home, TMPDIR, PORT: '0', PATH: process.env.PATH ?? '' }
  onTestFinished(async () => void (await runCli(env, ['down'])))
  return { home, TMPDIR, env, files, cursor, codex }
}

test.runIf(hasTmux)(
  'init in a terminal asks for servers, secrets and agents, shows the diff, and Ctrl-C before the last answer changes nothing (docs/checks.md, the first run)',
  async () => {
    const { home, TMPDIR, env, files, cursor, codex } = homeWithAgents()
    const { start, press, shows, screen } = openTerminal(env, 60)
    const answer = async () => {
      start('init')
      await shows(/ 1 {2}hub .*\n +2 {2}notes .*\nImport which servers\? Numbers, all or none \[all\]:$/m)
      press('7', 'Enter')
      await shows("'7' is not in the list.")
      press('1', 'Enter')
      await shows("Copy 1 secret in plain text to Toolroom's store? The files keep theirs. [y/N]")
      press('y', 'Enter')
      await shows(/Connect which agents to the gateway\? Numbers, all or none \[none\]:/)
      press('cursor', 'Enter')
      await shows(/Start Toolroom in the background, import 1 server, write 1 file\? \[y\/N\]/)
      // The entry of the chosen server is replaced, the other one stays.
      expect(screen()).toMatch(/^~\/\.cursor\/mcp\.json\n(?:.*\n)*\+.*"toolroom"/m)
      expect(screen()).not.toContain(SECRET)
      for (const [path, text] of Object.entries(files)) expect(readFileSync(path, 'utf8')).toBe(text)
    }
    await answer()
    press('C-c')
    await shows(/code 130\n/)
    expect(readdirSync(home).sort()).toEqual(['.codex', '.cursor'])
    expect(readdirSync(TMPDIR).filter((name) => name.startsWith('toolroom-'))).toEqual([])

    await answer()
    press('y', 'Enter')
    await shows(/code 0\n/)
    expect(screen()).toMatch(/^✓ imported hub {2}node -e 0$/m)
    expect(JSON.parse((await runCli(env, ['ls', '--all', '--json'])).stdout).items).toMatchObject([
      { id: 'hub' },
    ])
    expect((await runCli(env, ['secrets', 'ls', '--plain'])).stdout).toMatch(/^\S*GITHUB_TOKEN\t/)
    const { mcpServers } = JSON.parse(readFileSync(cursor, 'utf8'))
    expect(Object.keys(mcpServers).sort()).toEqual(['notes', 'toolroom'])
    expect(readFileSync(codex, 'utf8')).toBe(files[codex])
    expect((await runCli(env, ['backup', 'restore', '--all', '--yes'])).code).toBe(0)
    expect(readFileSync(cursor, 'utf8')).toBe(files[cursor])
  },
)

test.runIf(hasTmux)(
  'a bare toolroom in a terminal starts the service, prints its address once, and ends with Ctrl-C',
  async () => {
    const { env } = homeWithAgents()
    const { start, press, shows, screen } = openTerminal(env, 40)
    start()
    await shows(/^Prefer the terminal\? Run {2}toolroom init$/m)
    expect(screen()).toMatch(
      /^Toolroom \d\S* {2}http:\/\/127\.0\.0\.1:\d+ {2}\(only this computer can reach it\)\nFound 1 agent with 2 server entries/m,
    )
    expect(screen()).not.toContain('is ready at')
    press('C-c')
    await shows(/code 0\n/)
  },
)

test.runIf(hasTmux)('the tour of the README is what an empty computer shows, word for word', async () => {
  const home = ownFolder()
  const folders = (process.env.PATH ?? '').split(delimiter)
  const PATH = folders.filter((folder) => !existsSync(join(folder, 'toolroom'))).join(delimiter)
  const env = { HOME: home, PATH, PORT: '0' }
  const { start, press, shows, screen } = openTerminal(env, 24)
  const readme = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8')
  const tour = /^## 60-second tour\n([\s\S]*?)^## /m.exec(readme)?.[1] ?? expect.unreachable()
  const [started = '', typed = ''] = [...tour.matchAll(/^ {3}```\n([\s\S]*?)^ {3}```/gm)].map(([, block]) =>
    (block ?? '').replace(/^ {3}/gm, ''),
  )

  start()
  await shows(/^Prefer the terminal\?/m)
  const shown = screen()
    .replace(/127\.0\.0\.1:\d+/g, '127.0.0.1:8665')
    .replace(/#c=[\w-]+/, '#c=7f3a…')
    .replace(`Toolroom ${VERSION}`, 'Toolroom 0.1.0')
  expect(shown.trimEnd()).toBe(started.trimEnd())

  // What the page did: it added the sample, and ran the call that was filled in.
  const cli = (...argv: string[]) => runCli(env, argv)
  expect((await cli('add', 'sample')).stdout).toMatch(
    /^✓ Added sample\n {2}notes {2}~\/\.local\/share\/toolroom\/sample\n/,
  )
  const first = await cli('call', 'sample', 'add_note', 'text=Toolroom works')
  expect(tour).toContain(`\`${first.stdout.trim()}\``)
  let transcript = ''
  for (const [line, words = ''] of typed.matchAll(/^\$ node dist\/main\.js (.*)\n/gm)) {
    const argv = (words.match(/(?:'[^']*'|\S)+/g) ?? []).map((word) => word.replaceAll("'", ''))
    transcript += line + (await cli(...argv)).stdout
  }
  expect(transcript).toBe(typed)
  expect(existsSync(join(home, '.local/share/toolroom/sample'))).toBe(false)
  press('C-c')
  await shows(/code 0\n/)
})
