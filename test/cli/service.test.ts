import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { runningInstance } from '../../src/kernel/config/find-running-instance.ts'
import { checkCommands, runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'
import { FULL } from '../support/full-or-short.ts'
import { openTestService } from '../support/test-service.ts'
import { hasSystemd, userSystemd } from '../support/user-systemd.ts'

/** Elsewhere it would install itself on this computer. */
const INSTALL_FAILS: readonly [string[], number] = process.platform === 'linux' ? [[], 1] : [['x'], 2]

checkCommands(['down', 'service install', 'service uninstall', 'service status'], openTestService, () => ({
  down: { ok: [['--dry-run']], fails: [['--now'], 2] },
  'service install': { ok: [['--dry-run']], fails: INSTALL_FAILS, isLocal: true },
  'service uninstall': { ok: [[], ['--dry-run']], fails: [['x'], 2], isLocal: true },
  'service status': { ok: [[]], code: 3, fails: [['--x'], 2], isLocal: true },
}))

describe('toolroom up --detach and toolroom down', () => {
  test('the service outlives the command, a second one says that it runs, and down waits until the process is gone', async () => {
    const home = ownFolder()
    const data = join(home, '.local/share/toolroom')
    const cli = (...argv: string[]) => runCli({ HOME: home, PORT: '0' }, argv)
    onTestFinished(() => endInstance(data))

    const first = await cli('up', '--detach')
    expect(first).toMatchObject({ code: 0, stderr: '' })
    const { pid, address } = runningInstance(data) ?? expect.unreachable()
    expect(first.stdout).toBe(
      `Toolroom is ready at ${address} (process ${pid}, log in ${join('~', '.local/share/toolroom/up.log')})\n`,
    )
    expect(readFileSync(join(data, 'up.log'), 'utf8')).toContain(`Toolroom is ready at ${address}`)
    const second = JSON.parse((await cli('up', '-d', '--json')).stdout)
    expect(second).toEqual({ pid, address, log_file: join(data, 'up.log'), already_running: true })
    expect(await cli('up')).toMatchObject({ code: 75, stderr: expect.stringContaining(`process ${pid}`) })

    expect(await cli('down')).toEqual({
      code: 0,
      stdout: `Toolroom (process ${pid}) has stopped\n`,
      stderr: '',
    })
    expect(isAlive(pid)).toBe(false)
    expect(await cli('down')).toMatchObject({ code: 3 })
  })

  test('a start that is refused ends the command with its sentence, its exit code and the name of the log', async () => {
    const home = ownFolder()
    const refused = await runCli({ HOME: home, PORT: '0', HOST: '0.0.0.0' }, ['up', '--detach', '--json'])
    expect(refused.code).toBe(78)
    expect(JSON.parse(refused.stdout)).toMatchObject({
      code: 'configuration',
      detail: expect.stringContaining('requires an AUTH_TOKEN'),
      hint: expect.stringContaining('up.log'),
    })
    expect(await runCli({ HOME: home }, ['up', '-d', '--port', '99999'])).toMatchObject({ code: 78 })
  })
})

test.runIf(process.platform === 'linux')(
  'with --restart-after-crash a killed service is started again, and neither an end that was asked for nor a lasting refusal is undone',
  async () => {
    const home = ownFolder()
    const data = join(home, '.local/share/toolroom')
    const cli = (...argv: string[]) => runCli({ HOME: home, PORT: '0' }, argv)
    onTestFinished(() => endInstance(data))
    const refused = await runCli({ HOME: home, HOST: '0.0.0.0' }, ['up', '-d', '--restart-after-crash'])
    expect(refused).toMatchObject({ code: 78, stderr: expect.stringContaining('requires an AUTH_TOKEN') })

    expect(await cli('up', '--detach', '--restart-after-crash')).toMatchObject({ code: 0 })
    const { pid } = runningInstance(data) ?? expect.unreachable()
    const keeper = Number(/\) \S (\d+)/.exec(readFileSync(`/proc/${pid}/stat`, 'utf8'))?.[1])
    process.kill(pid, 'SIGKILL')
    await vi.waitFor(() => expect(runningInstance(data)?.pid ?? pid).not.toBe(pid), { timeout: 60_000 })
    expect(await cli('down')).toMatchObject({ code: 0 })
    await vi.waitFor(() => expect(isAlive(keeper)).toBe(false), { timeout: 60_000 })
    expect(runningInstance(data)).toBeUndefined()
  },
)

test('backup restore works after down: it starts Toolroom for itself, without the servers, and ends it', async () => {
  const home = ownFolder()
  const data = join(home, '.local/share/toolroom')
  const [file, started] = [join(home, '.cursor/mcp.json'), join(home, 'started')]
  const cli = (...argv: string[]) => runCli({ HOME: home, PORT: '0' }, argv)
  onTestFinished(() => endInstance(data))
  mkdirSync(join(home, '.cursor'))
  writeFileSync(file, '{ "mcpServers": {} }')
  expect(await cli('backup', 'restore', '--all', '--yes')).toMatchObject({ code: 3 })
  expect(existsSync(data)).toBe(false)

  await cli('up', '--detach')
  const program = `require('node:fs').writeFileSync(${JSON.stringify(started)}, '')`
  expect(await cli('add', 'eager', '--', process.execPath, '-e', program)).toMatchObject({ code: 0 })
  await fetch(`${runningInstance(data)?.address}/api/servers/eager`, {
    method: 'PATCH',
    headers: { 'x-svc-token': readFileSync(join(data, 'token'), 'utf8'), 'content-type': 'application/json' },
    body: '{"start_mode":"eager"}',
  })
  await cli('agents', 'connect', 'cursor', '--yes')
  expect(readFileSync(file, 'utf8')).toContain('toolroom')
  await cli('down')
  await cli('up', '--detach')
  await vi.waitFor(() => expect(existsSync(started)).toBe(true), 30_000)
  await cli('down')
  rmSync(started)

  const restored = await cli('backup', 'restore', '--all', '--yes')
  expect(restored).toMatchObject({ code: 0, stderr: expect.stringContaining('without its servers') })
  expect(readFileSync(file, 'utf8')).toBe('{ "mcpServers": {} }')
  expect(existsSync(started)).toBe(false)
  expect(runningInstance(data)).toBeUndefined()
})

describe.runIf(process.platform === 'linux')('toolroom service', () => {
  test('a unit of the same name that Toolroom did not write is left alone', async () => {
    const home = ownFolder()
    const file = join(home, '.config/systemd/user/toolroom.service')
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, '[Service]\n')
    const install = await runCli({ HOME: home }, ['service', 'install'])
    expect(install).toMatchObject({ code: 1, stderr: expect.stringContaining('was not written by Toolroom') })
    expect(readFileSync(file, 'utf8')).toBe('[Service]\n')
  })

  test('the command line of the unit starts the service', async () => {
    const home = ownFolder()
    const { stdout } = await runCli({ HOME: home }, ['service', 'install', '--dry-run', '--json'])
    const { text } = JSON.parse(stdout) as { text: string }
    const words = [...(/^ExecStart=(.*)$/m.exec(text)?.[1] ?? '').matchAll(/"([^"]*)"/g)].map(
      ([, word = '']) => word,
    )
    const env = Object.fromEntries(
      [...text.matchAll(/^Environment="(\w+)=(.*)"$/gm)].map(([, name, value]) => [name, value]),
    )
    const child = spawn(words[0] ?? '', words.slice(1), {
      env: { HOME: home, PORT: '0', ...env },
      stdio: 'ignore',
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    const data = join(home, '.local/share/toolroom')
    await vi.waitFor(() => expect(runningInstance(data)?.pid).toBe(child.pid), { timeout: 60_000 })
  })

  test.runIf(FULL && hasSystemd())(
    'systemd starts the service, restarts it after a crash, and leaves no file and no process after its end',
    async () => {
      const home = ownFolder()
      const env = await userSystemd(home)
      const data = join(home, '.local/share/toolroom')
      const cli = (...argv: string[]) => runCli(env, argv)
      await runCli({ HOME: home, PORT: '0' }, ['up', '--detach'])
      onTestFinished(() => endInstance(data))
      writeFileSync(join(data, 'config.json'), '{"port": 0}')
      const before = runningInstance(data)?.pid ?? expect.unreachable()

      const installed = await cli('service', 'install')
      expect(installed).toMatchObject({ code: 0, stderr: expect.stringContaining(`process ${before}`) })
      const first = runningInstance(data)?.pid ?? expect.unreachable()
      expect(first).not.toBe(before)
      const status = JSON.parse((await cli('service', 'status', '--json')).stdout)
      expect(status).toMatchObject({ installed: true, enabled: true, running: true, pid: first })

      process.kill(first, 'SIGKILL')
      await vi.waitFor(() => expect(runningInstance(data)?.pid ?? first).not.toBe(first), { timeout: 60_000 })
      const second = runningInstance(data)?.pid ?? expect.unreachable()
      expect((await cli('service', 'install')).code).toBe(0) // an update, for example
      expect(runningInstance(data)?.pid).not.toBe(second)

      expect((await cli('down')).code).toBe(0) // a planned end is not a crash
      expect(await cli('service', 'status')).toMatchObject({
        code: 3,
        stdout: expect.stringContaining('not running'),
      })
      expect((await cli('service', 'install')).code).toBe(0)
      const last = runningInstance(data)?.pid ?? expect.unreachable()
      expect((await cli('service', 'uninstall')).code).toBe(0)
      expect(isAlive(last)).toBe(false)
      expect(readdirSync(join(home, '.config'))).toEqual(['toolroom'])
    },
    180_000,
  )
})

/** A process that nothing has asked about since it ended is not alive. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

function endInstance(data: string): void {
  const instance = runningInstance(data)
  if (instance) process.kill(instance.pid, 'SIGKILL')
}
