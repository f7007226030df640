import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { runTool } from '../../src/cli/autostart/service-manager.ts'
import { TaskScheduler } from '../../src/cli/autostart/task-scheduler.ts'
import { runningInstance } from '../../src/kernel/config/find-running-instance.ts'

/** Run by `npm run platforms`, on Windows. */
const ROOT = fileURLToPath(new URL('../../', import.meta.url))
const MAIN = join(ROOT, 'dist', 'main.js')

beforeAll(() => {
  if (!existsSync(MAIN)) execFileSync(process.execPath, ['scripts/build.mjs'], { cwd: ROOT, stdio: 'ignore' })
})

/** A data folder with characters that a shell or XML could misread. */
function unusualFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'toolroom-test-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 100 }))
  const data = join(folder, 'Zoë & Söhne 100%')
  mkdirSync(data)
  return data
}

test('the Task Scheduler takes the task of toolroom service install, refuses a broken one, and deletes it', async () => {
  const data = unusualFolder()
  const file = join(data, 'login-task.xml')
  const { USERNAME: user = 'me' } = process.env
  const task = new TaskScheduler({ file, data, env: process.env, userName: user })
  await task.check()
  const text = task.describe({ command: process.execPath, mainFile: MAIN, data, env: {} })
  const create = () => runTool('schtasks', ['/create', '/tn', `Toolroom-${user}`, '/xml', file, '/f'])
  writeFileSync(file, Buffer.from(text.replace('</Settings>', ''), 'utf16le'))
  await expect(create()).rejects.toThrow('schtasks /create')
  writeFileSync(file, Buffer.from(text, 'utf16le'))
  await create()
  expect(await task.state()).toMatchObject({ installed: true, enabled: true, running: false, failed: false })
  await task.uninstall()
  expect(existsSync(file)).toBe(false)
  await expect(runTool('schtasks', ['/delete', '/tn', `Toolroom-${user}`, '/f'])).rejects.toThrow('schtasks')
})

test('the command of the task starts the service, which is started again after a kill and ends when asked over HTTP', async () => {
  const data = unusualFolder()
  const env = { ...process.env, PORT: '0', TOOLROOM_HOME: dirname(data) } // the flag wins
  const cli = (args: readonly string[], TOOLROOM_HOME = data) =>
    spawnSync(process.execPath, [MAIN, ...args], { env: { ...env, TOOLROOM_HOME }, encoding: 'utf8' })
  const flags = ['--detach', '--restart-after-crash', '--toolroom-home', data]
  expect(cli(['up', ...flags], dirname(data))).toMatchObject({ status: 0, stderr: '' })
  const { pid } = runningInstance(data) ?? expect.unreachable()
  process.kill(pid, 'SIGKILL')
  await vi.waitFor(() => expect(runningInstance(data)?.pid ?? pid).not.toBe(pid), { timeout: 60_000 })
  const down = cli(['down'])
  expect(down).toMatchObject({ status: 0, stdout: expect.stringContaining('has stopped') })
  expect(runningInstance(data)).toBeUndefined()
})
