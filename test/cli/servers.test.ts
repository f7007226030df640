import { expect, test } from 'vitest'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { post, register } from '../support/running-servers.ts'
import { openTestService, type TestService } from '../support/test-service.ts'

/** A server that runs, one that fails, and one at a URL. */
async function seeded(): Promise<TestService> {
  const service = await openTestService()
  await register(service, 'echo', [], { tags: ['work'] })
  await register(service, 'crash', [], { restart: { policy: 'never' } })
  await post(service, '/api/servers/echo/start')
  await post(service, '/api/servers/crash/start')
  await post(service, '/api/http-servers', { name: 'Remote docs', url: 'http://127.0.0.1:9/mcp' })
  return service
}

checkCommands(namesIn('Servers'), seeded, () => ({
  ls: { ok: [[], ['--tag', 'work']], fails: [['--all=x'], 2] },
  add: {
    ok: [
      ['notes', '--dry-run', '--', 'node', '-e', '0'],
      ['notes', '--env', 'A=1', '--', 'node', '-e', '0'],
    ],
    fails: [['echo', '--', 'node'], 6],
  },
  edit: {
    ok: [
      ['echo', '--env', 'A=1', '--dry-run'],
      ['echo', '--tag', 'x'],
    ],
    fails: [['echo'], 2],
  },
  rm: {
    ok: [
      ['echo', '--dry-run'],
      ['notes', '--yes'],
    ],
    fails: [['echo'], 2],
  },
  test: { ok: [['echo'], ['echo']], fails: [['remote'], 1] },
  trial: {
    ok: [
      ['echo', '--isolation', 'none'],
      ['echo', '--isolation=none', '--call', 'echo={"text":"a"}'],
    ],
    fails: [['crash', '--isolation', 'none'], 1],
  },
  allow: { ok: [['echo'], ['echo', '--dry-run']], fails: [['ecoh'], 5] },
  why: { ok: [['echo'], ['echo']], fails: [['crash'], 1] },
  info: { ok: [['echo'], ['ech']], fails: [['ecoh'], 5] },
  start: { ok: [['echo'], ['--tag', 'work']], fails: [['crash'], 1] },
  stop: { ok: [['--all', '--dry-run'], ['echo']], fails: [['ecoh'], 5] },
  restart: { ok: [['echo'], ['echo', '--dry-run']], fails: [[], 2] },
}))

test('ls, info, start and stop print tables, names and what went wrong, and exit with 9 if a part failed', async () => {
  const service = await seeded()
  const env = cliEnv(service)
  const cli = (...argv: string[]) => runCli(env, argv)

  const listed = await cli('ls')
  const [head, ...rows] = listed.stdout.trimEnd().split('\n')
  expect(head).toMatch(/^ {2}NAME +STATUS +KIND +TOOLS +~TOKENS +P95 +ERR +RSS +AGENTS$/)
  expect(rows[0]).toMatch(/^ {2}crash +✕ crashed \(exit \d+\) +stdio +-/)
  expect(rows[1]).toMatch(/^ {2}echo +● running \S+ +stdio +4 +\d/)
  expect(rows[2]).toMatch(/^ {2}remote-docs +◇ not tried +http +- /)
  expect(listed.stderr).toBe('') // hints are for terminals
  const tsv = (await cli('ls', '--plain')).stdout.split('\n')
  expect(tsv[1]?.split('\t').slice(0, 4)).toEqual(['echo', expect.stringMatching(/running/), 'stdio', '4'])
  expect((await cli('ls', '--ascii')).stdout).toMatch(/^[\x20-\x7e\n]*$/)
  expect((await runCli({ ...env, FORCE_COLOR: '1' }, ['ls'])).stdout).toContain('\u001b[32m● running')
  expect((await runCli({ ...env, FORCE_COLOR: '1', NO_COLOR: '1' }, ['ls'])).stdout).not.toContain('\u001b')

  expect((await cli('info', 'echo')).stdout).toMatch(/^Command +\S.* \S+echo\.mjs$/m)
  expect(await cli('info', 'ecoh')).toEqual({
    code: 5,
    stdout: '',
    stderr: "toolroom: No server is called 'ecoh'. Did you mean 'echo'?\n",
  })
  const some = await cli('restart', 'echo', 'crash')
  expect(some).toMatchObject({ code: 9, stdout: expect.stringMatching(/^✓ echo {2}running\n✕ crash {2}\S/) })
  expect((await cli('start', 'crash')).stderr).toMatch(
    /^toolroom: .*\. Try toolroom why crash, or toolroom logs crash\n$/m,
  )
  expect((await cli('restart')).stderr).toContain('run toolroom down, then toolroom up')
  expect((await cli('stop', 'remote')).stderr).toContain('runs at its own URL and cannot be stopped here')
  expect((await cli('stop', '--all')).code).toBe(0)
  expect((await service.inject('/api/servers/echo')).json().status).toBe('stopped')
})

test('add, edit, why, test and rm say what they did, and never repeat a secret (docs/checks.md, every command)', async () => {
  const service = await seeded()
  const env = cliEnv(service)
  const cli = (...argv: string[]) => runCli(env, argv)
  const secret = 'ghp_0123456789abcdefghijABCDEFGHIJ012345'
  const added = await cli(
    'add',
    'notes',
    '--env',
    `GITHUB_TOKEN=${secret}`,
    '--',
    process.execPath,
    '-e',
    '0',
  )
  expect(added).toMatchObject({ code: 0, stderr: '' })
  expect(added.stdout).toMatch(/^✓ Added notes\n {2}runs +\S.* -e 0\n/)
  const piped = await runCli(
    env,
    ['add', '-', '--json'],
    '{"mcpServers":{"late":{"url":"http://127.0.0.1:9/mcp"}}}',
  )
  expect(JSON.parse(piped.stdout)).toMatchObject({
    items: [{ id: 'late', type: 'http', outcome: 'created' }],
  })
  expect((await cli('add', 'http://127.0.0.1:9/sse', '--name', 'feed')).stdout).toContain('Added feed')
  const one = await cli('add', 'http://127.0.0.1:9/mcp', '--name', 'one', '--json')
  expect(JSON.parse(one.stdout)).toMatchObject({ id: 'one', type: 'http', url: 'http://127.0.0.1:9/mcp' })

  const edited = await cli(
    'edit',
    'notes',
    '--env',
    `OTHER=${secret}`,
    '--unset',
    'GITHUB_TOKEN',
    '--name',
    'My notes',
  )
  expect(edited.stdout).toBe('Changed name of notes\nChanged env of notes: OTHER\n')
  const info = await cli('info', 'notes')
  expect(info.stdout).toMatch(/^Name +My notes$/m)
  expect(info.stdout).toMatch(/^Variables +OTHER=\*\*\*$/m)
  expect((await cli('edit', 'notes', '--header', 'A=1')).stderr).toContain('--header is for servers at a URL')
  const plan = await cli('edit', 'notes', '--env', `MORE=${secret}`, '--dry-run', '--json')
  expect(JSON.parse(plan.stdout)).toMatchObject({
    dry_run: true,
    change: { env: { MORE: '***', OTHER: '***' } },
  })
  for (const { stdout, stderr } of [added, edited, info, plan]) expect(stdout + stderr).not.toContain(secret)

  const why = await cli('why', 'crash')
  // On a slow machine it says what it is doing.
  expect(why).toMatchObject({ code: 1, stderr: expect.stringMatching(/^(?:Checking crash …\n)?$/) })
  expect(why.stdout).toMatch(/^✕ crash: .*exited with code 1/)
  expect(why.stdout).toMatch(/^ {2}It last wrote: +Error: the index is broken$/m)
  expect(why.stdout).toMatch(/^ {2}Checked: +.*command ✓.* exits ✕/m)
  expect(why.stdout).toMatch(/^ {2}Then: +toolroom restart crash$/m)
  expect((await cli('why', 'echo')).stdout).toContain('Nothing is wrong with it.')
  expect((await cli('test', 'remote')).stdout).toMatch(/^✕ tcp/m)

  expect((await cli('rm', 'notes')).stderr).toContain('Add --yes')
  expect((await cli('rm', 'notes', '--yes')).stdout).toBe('Removed My notes.\n')
  expect((await service.inject('/api/servers/notes')).statusCode).toBe(404)
})
