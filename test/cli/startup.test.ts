import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { MAIN } from '../support/bridge.ts'
import { cliEnv } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { post, register } from '../support/running-servers.ts'
import { openTestService } from '../support/test-service.ts'

const COST = fileURLToPath(new URL('../support/cost-at-exit.cjs', import.meta.url))
/** Node's modules that take milliseconds to load. Commands load them only where they need them. */
const SLOW = [
  'child_process',
  'crypto',
  'dns',
  'https',
  'inspector',
  'readline',
  'tls',
  'worker_threads',
  'zlib',
]

interface Cost {
  readonly cpuMs: number
  readonly modules: readonly string[]
}

/** Runs the built program and returns the CPU time of its process, and the modules of Node that it loaded. */
const costOf = (env: Readonly<Record<string, string>>, argv: readonly string[]): Promise<Cost> =>
  costOfNode(env, [MAIN, ...argv])

async function costOfNode(env: Readonly<Record<string, string>>, argv: readonly string[]): Promise<Cost> {
  const COST_FILE = join(ownFolder(), 'cost.json')
  const child = spawn(process.execPath, ['--require', COST, ...argv], {
    env: { PATH: process.env.PATH, ...env, COST_FILE },
    stdio: 'ignore',
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  expect(await once(child, 'close')).toEqual([0, null])
  return JSON.parse(readFileSync(COST_FILE, 'utf8'))
}

/** Windows needs more to start a process. */
const LIMIT_MS = process.platform === 'win32' ? 700 : 350

test(`toolroom ls takes at most ${LIMIT_MS} ms of CPU time with 20 servers, and no command loads modules of Node that it does not need`, async () => {
  const service = await openTestService()
  for (let n = 0; n < 20; n++) await register(service, 'echo', [], { name: `server ${n}` })
  await post(service, '/api/servers/server-1/start')
  const env = cliEnv(service)
  const runs: Cost[] = []
  for (let n = 0; n < 3; n++) runs.push(await costOf(env, ['ls']))
  // Another program can only make a run slower.
  expect(Math.min(...runs.map(({ cpuMs }) => cpuMs))).toBeLessThan(LIMIT_MS)
  // Since version 22, Node itself loads some of them with node:http.
  const { modules: usual } = await costOfNode({}, ['--input-type=module', '-e', "import 'node:http'"])
  for (const { modules } of [...runs, await costOf(env, ['status'])])
    expect(modules.filter((name) => SLOW.includes(name) && !usual.includes(name))).toEqual([])
})

test('toolroom status loads at most 7 files with 104 kB of code', async () => {
  const service = await openTestService()
  const folder = ownFolder()
  const child = spawn(process.execPath, [MAIN, 'status'], {
    env: { PATH: process.env.PATH, ...cliEnv(service), NODE_V8_COVERAGE: folder },
    stdio: 'ignore',
  })
  expect(await once(child, 'close')).toEqual([0, null])
  const dist = `${pathToFileURL(dirname(MAIN)).href}/`
  const [report = ''] = readdirSync(folder)
  const scripts: { url: string }[] = JSON.parse(readFileSync(join(folder, report), 'utf8')).result
  const files = scripts.flatMap(({ url }) => (url.startsWith(dist) ? [url.slice(dist.length)] : []))
  expect(files).toContain(basename(MAIN))
  expect(files.length, files.join(' ')).toBeLessThanOrEqual(7)
  const bytes = files.map((file) => statSync(join(dirname(MAIN), file)).size)
  expect(bytes.reduce((sum, size) => sum + size)).toBeLessThan(104_000)
})
