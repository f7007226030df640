import { expect, test } from 'vitest'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { type House, openHouse } from '../support/house.ts'
import { post, register } from '../support/running.ts'

/** A server that runs, one that fails, and one at a URL. */
async function seeded(): Promise<House> {
  const house = await openHouse()
  await register(house, 'echo', [], { tags: ['work'] })
  await register(house, 'crash', [], { restart: { policy: 'never' } })
  await post(house, '/api/servers/echo/start')
  await post(house, '/api/servers/crash/start')
  await post(house, '/api/http-servers', { name: 'Remote docs', url: 'http://127.0.0.1:9/mcp' })
  return house
}

checkCommands(namesIn('Servers'), seeded, () => ({
  ls: { ok: [[], ['--tag', 'work']], fails: [['--all=x'], 2] },
  info: { ok: [['echo'], ['ech']], fails: [['ecoh'], 5] },
  start: { ok: [['echo'], ['--tag', 'work']], fails: [['crash'], 1] },
  stop: { ok: [['--all', '--dry-run'], ['echo']], fails: [['ecoh'], 5] },
  restart: { ok: [['echo'], ['echo', '--dry-run']], fails: [[], 2] },
}))

test('ls, info, start and stop print tables, names and what went wrong, and exit with 9 if a part failed', async () => {
  const house = await seeded()
  const env = cliEnv(house)
  const cli = (...argv: string[]) => runCli(env, argv)

  const listed = await cli('ls')
  const [head, ...rows] = listed.stdout.trimEnd().split('\n')
  expect(head).toMatch(/^ {2}NAME +STATUS +KIND +TOOLS +~TOKENS +P95 +ERR +RSS +AGENTS$/)
  expect(rows[0]).toMatch(/^ {2}crash +✕ crashed \(exit \d+\) +stdio +-/)
  expect(rows[1]).toMatch(/^ {2}echo +● running \S+ +stdio +4 +\d/)
  expect(rows[2]).toMatch(/^ {2}remote-docs +\? not checked +http +- /)
  expect(listed.stderr).toBe('') // hints are for terminals
  const tsv = (await cli('ls', '--plain')).stdout.split('\n')
  expect(tsv[1]?.split('\t').slice(0, 4)).toEqual(['echo', expect.stringMatching(/running/), 'stdio', '4'])
  expect((await cli('ls', '--ascii')).stdout).toMatch(/^[\x20-\x7e\n]*$/)
  expect((await runCli({ ...env, FORCE_COLOR: '1' }, ['ls'])).stdout).toContain('\u001b[32m● running')
  expect((await runCli({ ...env, FORCE_COLOR: '1', NO_COLOR: '1' }, ['ls'])).stdout).not.toContain('\u001b')

  expect((await cli('info', 'echo')).stdout).toMatch(/^Command +\S+ \S+echo\.mjs$/m)
  expect(await cli('info', 'ecoh')).toEqual({
    code: 5,
    stdout: '',
    stderr: "toolroom: No server is called 'ecoh'. Did you mean 'echo'?\n",
  })
  const some = await cli('restart', 'echo', 'crash')
  expect(some).toMatchObject({ code: 9, stdout: expect.stringMatching(/^✓ echo {2}running\n✕ crash {2}\S/) })
  expect((await cli('start', 'crash')).stderr).toMatch(/^toolroom: .*\. Try toolroom why crash\n$/)
  expect((await cli('restart')).stderr).toContain('run toolroom down, then toolroom up')
  expect((await cli('stop', 'remote')).stderr).toContain('runs at its own URL and cannot be stopped here')
  expect((await cli('stop', '--all')).code).toBe(0)
  expect((await house.inject('/api/servers/echo')).json().status).toBe('stopped')
})
