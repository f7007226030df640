import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { MAIN } from '../support/bridge.ts'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { houseWithRegistry, install, packageFolders } from '../support/packages.ts'
import { toolPackage } from '../support/registry/tool-package.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

const OLD = toolPackage('grows', '1.0.0', { tools: ['a'], postinstall: true })
const NEW = toolPackage('grows', '2.0.0', { tools: ['a', 'b'] })

async function seeded() {
  const { service } = await houseWithRegistry([toolPackage('other'), OLD, NEW])
  await install(service, { name: 'grows', version: '1.0.0' })
  return service
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
  'images pull': { ok: [['mcp/time', '--dry-run']], fails: [['no such image'], 2] },
}))

test('install shows its phases on stderr, adds a server and enables it in an agent; update shows which tools are new', async () => {
  const { service, home } = await houseWithRegistry([OLD, NEW])
  mkdirSync(join(home, '.cursor')) // an agent that is installed
  writeFileSync(join(home, '.cursor', 'mcp.json'), '{}')
  const cli = (...argv: string[]) => runCli(cliEnv(service), argv)
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

test('install --allow-scripts runs the install scripts, which are skipped without it', async () => {
  const { service, home } = await houseWithRegistry([OLD])
  const cli = (...argv: string[]) => runCli(cliEnv(service), ['install', 'grows', ...argv])
  expect((await cli()).stdout).toContain('Install scripts were skipped (grows)')
  expect(existsSync(join(home, 'canary'))).toBe(false)
  const allowed = await cli('--allow-scripts')
  expect(allowed.code).toBe(0)
  expect(allowed.stdout).not.toContain('skipped')
  expect(existsSync(join(home, 'canary'))).toBe(true)
})

test('search --registry mcp asks the MCP Registry, and shows what it has', async () => {
  const paths: string[] = []
  const registry = createServer(({ url = '' }, response) => {
    paths.push(url)
    const server = { name: 'io.github.jo/weather', description: 'Weather of today', version: '1.0.2' }
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ servers: [{ server }], metadata: { count: 1 } }))
  }).listen(0, '127.0.0.1')
  await once(registry, 'listening')
  onTestFinished(() => void registry.close())
  const { port } = registry.address() as AddressInfo
  const service = await openTestService({ env: { MCP_REGISTRY_URL: `http://127.0.0.1:${port}` } })
  const found = await runCli(cliEnv(service), ['search', 'rain', 'weather', '--registry', 'mcp'])
  expect(found.code).toBe(0)
  expect(found.stdout).toMatch(/^ {2}NAME.*\n {2}io\.github\.jo\/weather +1\.0\.2 .* Weather of today\n$/)
  expect(paths).toEqual([expect.stringContaining('search=rain+weather')])
})

test.skipIf(process.platform === 'win32')(
  'Ctrl-C during install exits with 130 and cancels the job, which leaves no folder',
  async () => {
    const { service } = await houseWithRegistry([OLD], { grows: 'silent_tarball' })
    const env = { PATH: process.env.PATH, ...cliEnv(service) }
    const child = spawn(process.execPath, [MAIN, 'install', 'grows'], { env })
    onTestFinished(() => void child.kill('SIGKILL'))
    const jobs = async () => (await service.inject({ url: '/api/jobs', headers: AUTHORISED })).json()
    await expect.poll(jobs).toMatchObject({ items: [{ status: 'running', phase: 'installing' }] })
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([130, null])
    await expect.poll(jobs).toMatchObject({ items: [{ status: 'cancelled' }] })
    await expect.poll(() => packageFolders(service.data)).toEqual([])
  },
)
