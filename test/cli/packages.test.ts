import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { JobView } from '../../src/servers/jobs/jobs.routes.ts'
import { MAIN } from '../support/bridge.ts'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { sharedByTests } from '../support/lifetime.ts'
import { houseWithRegistry, install, packageFolders } from '../support/packages.ts'
import { toolPackage } from '../support/registry/tool-package.ts'
import { get, post } from '../support/running-servers.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

const OLD = toolPackage('grows', '1.0.0', { tools: ['a'], postinstall: true })
const NEW = toolPackage('grows', '2.0.0', { tools: ['a', 'b'] })

/** One service for the file, because each asks npm for its version and its settings. */
const opened = sharedByTests(() =>
  houseWithRegistry(
    [
      ...[toolPackage('other'), toolPackage('changes', '1.0.0'), toolPackage('changes', '2.0.0'), OLD, NEW],
      ...[toolPackage('scripted', '1.0.0', { postinstall: true }), toolPackage('slow')],
    ],
    { slow: 'silent_tarball' },
  ),
)

async function seeded() {
  const { service } = await opened()
  await install(service, { name: 'changes', version: '1.0.0' })
  return service
}

checkCommands(namesIn('Packages'), seeded, () => ({
  search: { ok: [['changes']], fails: [[], 2] },
  install: { ok: [['other', '--dry-run'], ['other']], fails: [['no-such-package'], 1] },
  uninstall: {
    ok: [
      ['other', '--dry-run'],
      ['other', '--yes'],
    ],
    fails: [['othre', '--yes'], 5],
  },
  outdated: { ok: [[]], fails: [['x'], 2] },
  update: { ok: [['--all', '--dry-run'], ['changes']], fails: [[], 2] },
  'images pull': { ok: [['mcp/time', '--dry-run']], fails: [['no such image'], 2] },
}))

test('install shows its phases on stderr, adds a server and enables it in an agent; update shows which tools are new', async () => {
  const { service, home } = await opened()
  mkdirSync(join(home, '.cursor')) // an agent that is installed
  writeFileSync(join(home, '.cursor', 'mcp.json'), '{}')
  const cli = (...argv: string[]) => runCli(cliEnv(service), argv)
  const installed = await cli('install', 'grows@1.0.0', '--add', '--agents', 'curs', '--yes')
  const phases = installed.stderr.match(/^✓ \w+/gm)
  expect(phases).toEqual(['✓ resolving', '✓ installing', '✓ checking', '✓ finishing', '✓ creating'])
  expect(installed).toMatchObject({ code: 0 })
  expect(installed.stdout).toMatch(
    /^✓ grows 1\.0\.0, \d+\S\n! Install scripts were skipped .*--allow-scripts\n/,
  )
  expect(existsSync(join(home, 'canary'))).toBe(false)
  expect(installed.stdout).toMatch(/^✓ grows {2}running, 1 tools?, about \d/m)
  expect(installed.stdout).toMatch(/^✓ cursor {2}~[\\/]\.cursor[\\/]mcp\.json/m)
  expect(installed.stdout).toMatch(/^ {2}agents cursor$/m)

  expect((await cli('outdated')).stdout).toMatch(/^ {2}grows +1\.0\.0 +2\.0\.0/m)
  expect(await cli('uninstall', 'grows', '--yes')).toMatchObject({ code: 6 })
  const updated = await cli('update', '--all')
  expect(updated.stdout).toBe('✓ grows 1.0.0 → 2.0.0. Tools new: b\n')
  expect((await cli('update', 'grows')).stdout).toBe('✓ grows 2.0.0 is the newest version\n')
  expect((await cli('install', 'no-such-package')).stderr).toMatch(/toolroom: .*no-such-package/)
})

test('install names the servers that start the package with npx, and changes them only with --convert', async () => {
  const { service } = await opened()
  const server = { name: 'by npx', command: 'npx', args: ['-y', 'other@1.0.0', '--verbose'] }
  await post(service, '/api/servers', server)
  const cli = (...argv: string[]) => runCli(cliEnv(service), argv)
  const installed = await cli('install', 'other')
  expect(installed.stdout).toContain('toolroom edit by-npx --package other\n')
  expect(await get(service, 'by-npx')).toMatchObject({ package: null, ...server })
  expect((await cli('install', 'other', '--convert')).stdout).toContain(
    '✓ by-npx  runs the installed package now\n',
  )
  expect(await get(service, 'by-npx')).toMatchObject({
    package: 'other',
    command: 'other',
    args: ['--verbose'],
  })
  const patch = (payload: object) =>
    service.inject({ method: 'PATCH', url: '/api/servers/by-npx', headers: AUTHORISED, payload })
  expect((await patch({ package: null })).statusCode).toBe(422)
  expect((await patch({ package: null, command: 'npx', args: server.args })).json()).toMatchObject(server)
  expect(await cli('edit', 'by-npx', '--package', 'other')).toMatchObject({ code: 0 })
  expect((await get(service, 'by-npx')).package).toBe('other')
})

test('install --allow-scripts runs the install scripts', async () => {
  const { service, home } = await opened()
  const allowed = await runCli(cliEnv(service), ['install', 'scripted', '--allow-scripts'])
  expect(allowed.code).toBe(0)
  expect(allowed.stdout).not.toContain('skipped')
  expect(existsSync(join(home, 'canary'))).toBe(true)
  rmSync(join(home, 'canary'))
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
    const { service } = await opened()
    const env = { PATH: process.env.PATH, ...cliEnv(service) }
    const child = spawn(process.execPath, [MAIN, 'install', 'slow'], { env })
    onTestFinished(() => void child.kill('SIGKILL'))
    const jobs = async () =>
      (await service.inject({ url: '/api/jobs', headers: AUTHORISED }))
        .json<{ items: JobView[] }>()
        .items.filter(({ subject }) => subject === 'slow')
    await expect.poll(jobs).toMatchObject([{ status: 'running', phase: 'installing' }])
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([130, null])
    await expect.poll(jobs).toMatchObject([{ status: 'cancelled' }])
    const left = () => packageFolders(service.data).filter((name) => ['.staging', 'slow'].includes(name))
    await expect.poll(left).toEqual([])
  },
)
