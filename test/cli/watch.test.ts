import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { MAIN } from '../support/bridge.ts'
import { checkCommands, cliEnv, namesIn, runCli } from '../support/cli.ts'
import { post, register } from '../support/running-servers.ts'
import { openTestService, type TestService } from '../support/test-service.ts'

const LATER = { timeout: 60_000 }

/** A server with a call that succeeded and one that failed. */
async function seeded(): Promise<TestService> {
  const service = await openTestService()
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  await call(service, 'echo', 'hello')
  await post(service, '/api/servers/echo/tools/nothing/call', { arguments: {} })
  return service
}

const call = (service: TestService, tool: string, text: string) =>
  post(service, `/api/servers/echo/tools/${tool}/call`, { arguments: { text } })

checkCommands(namesIn('Watch'), seeded, () => ({
  logs: { ok: [[], ['ech', '--level', 'warn', '--since', '10m']], fails: [['--level', 'loud'], 2] },
  traffic: { ok: [[], ['echo', '--failed']], fails: [['--since', 'yesterday'], 2] },
  events: { ok: [[], ['--limit', '5']], fails: [['ecoh'], 5] },
  top: { ok: [[]], fails: [['x'], 2] },
  stats: { ok: [[], ['echo', '--window', '24h']], fails: [['ecoh'], 5] },
}))

test('logs, traffic, events and stats show the newest last, with the server, the tool and why a call failed', async () => {
  const service = await seeded()
  const cli = async (...argv: string[]) => (await runCli(cliEnv(service), argv)).stdout
  await expect.poll(() => cli('traffic', '--plain'), LATER).toMatch(/\n.+\n/)

  const [first, second] = (await cli('traffic')).split('\n')
  expect(first).toMatch(/^\d\d:\d\d:\d\d ✓ echo echo {2}\d+ms {2}\d+B in, \d+B out/)
  expect(second).toMatch(/^\d\d:\d\d:\d\d ✕ echo nothing {2}– {2}unknown_tool: 'echo' has no tool 'nothing'$/)
  expect(await cli('traffic', '--failed')).not.toContain('✓')
  expect((await cli('traffic', '--plain', '-n', '1')).split('\t').slice(1, 5)).toEqual([
    'echo',
    'nothing',
    '-',
    'error',
  ])
  expect(await cli('logs', '--search', 'no such text')).toBe('No lines.\n')
  const [usual, all] = [await cli('logs'), await cli('logs', '--level', 'trace')]
  expect(usual).not.toContain(' POST /api/servers 201')
  expect(all).toMatch(/ debug service {2}POST \/api\/servers 201$/m)
  expect(await cli('logs', '--level', 'info')).toMatch(/^\d\d:\d\d:\d\d info {2}\S+ {2}\S/)
  expect(await cli('events')).toMatch(/^\d\d:\d\d:\d\d change .*echo/m)
  expect(await cli('stats')).toMatch(/^All servers, last 1h: 2 calls, 50% failed, p50 \d/)
  expect(await cli('stats', 'echo')).toMatch(/^ {2}echo +echo +1 +0% +\d+ms/m)
  expect((await runCli(cliEnv(service), ['logs', '-n', '0'])).stderr).toContain(
    '--limit must be a whole number from 1',
  )
})

test.skipIf(process.platform === 'win32')(
  'traffic -f --json prints one document per line, old calls and new ones, once each, and Ctrl-C exits with 130',
  async () => {
    const service = await seeded()
    const child = spawn(process.execPath, [MAIN, 'traffic', '-f', '--json', '-n', '1'], {
      env: { PATH: process.env.PATH, ...cliEnv(service) },
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    let output = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    const tools = () => output.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line).tool]))
    await expect.poll(tools, LATER).toHaveLength(1)
    for (let at = 0; at < 3; at++) await call(service, 'echo', `text ${at}`)
    await expect.poll(tools, LATER).toHaveLength(4)
    await call(service, 'echo', 'last')
    await expect.poll(tools, LATER).toHaveLength(5)
    expect(tools()).toEqual(['nothing', 'echo', 'echo', 'echo', 'echo'])
    child.kill('SIGINT')
    expect(await once(child, 'close')).toEqual([130, null])
  },
)

test('logs -f ends when the program that reads its lines has ended', async () => {
  const service = await seeded()
  const child = spawn(process.execPath, [MAIN, 'logs', '-f'], {
    env: { PATH: process.env.PATH, ...cliEnv(service) },
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const closed = once(child, 'close')
  await once(child.stdout, 'data')
  child.stdout.destroy()
  await post(service, '/api/servers/echo/restart')
  expect(await closed).toEqual([0, null])
})
