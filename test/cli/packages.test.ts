import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { houseWithRegistry, install } from '../support/packages.ts'
import { toolPackage } from '../support/registry/tool-package.ts'

const OLD = toolPackage('grows', '1.0.0', { tools: ['a'], postinstall: true })
const NEW = toolPackage('grows', '2.0.0', { tools: ['a', 'b'] })

async function seeded() {
  const { house } = await houseWithRegistry([toolPackage('other'), OLD, NEW])
  await install(house, { name: 'grows', version: '1.0.0' })
  return house
}

checkCommands(namesIn('Packages'), seeded, () => ({
  search: { ok: [['grows']], fails: [[], 2] },
  install: { ok: [['other', '--dry-run'], ['other']], fails: [['no-such-package'], 1] },
  uninstall: {
    ok: [
      ['other', '--dry-run'],
      ['other', '--yes'],
    ],
    fails: [['othre', '--yes'], 5],
  },
  outdated: { ok: [[]], fails: [['x'], 2] },
  update: { ok: [['--all', '--dry-run'], ['grows']], fails: [[], 2] },
}))

test('install shows its phases on stderr, adds a server and enables it in an agent; update shows which tools are new', async () => {
  const { house, home } = await houseWithRegistry([OLD, NEW])
  mkdirSync(join(home, '.cursor')) // an agent that is installed
  writeFileSync(join(home, '.cursor', 'mcp.json'), '{}')
  const cli = (...argv: string[]) => runCli(cliEnv(house), argv)
  const installed = await cli('install', 'grows@1.0.0', '--add', '--enable-in', 'curs')
  const phases = installed.stderr.match(/^✓ \w+/gm)
  expect(phases).toEqual(['✓ resolving', '✓ installing', '✓ checking', '✓ finishing', '✓ creating'])
  expect(installed).toMatchObject({ code: 0 })
  expect(installed.stdout).toMatch(
    /^✓ grows 1\.0\.0, \d+\S\n! Install scripts were skipped .*--allow-scripts\n/,
  )
  expect(installed.stdout).toMatch(/^✓ grows {2}running, 1 tools?, about \d/m)
  expect(installed.stdout).toMatch(/^✓ cursor {2}enabled/m)

  expect((await cli('outdated')).stdout).toMatch(/^ {2}grows +1\.0\.0 +2\.0\.0/m)
  expect(await cli('uninstall', 'grows', '--yes')).toMatchObject({ code: 6 })
  const updated = await cli('update', '--all')
  expect(updated.stdout).toBe('✓ grows 1.0.0 → 2.0.0. Tools new: b\n')
  expect((await cli('update', 'grows')).stdout).toBe('✓ grows 2.0.0 is the newest version\n')
  expect((await cli('install', 'no-such-package')).stderr).toMatch(/toolroom: .*no-such-package/)
})
