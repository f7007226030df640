import { execFileSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { listProcesses } from '../../src/supervisor/process/process-table.ts'
import { MAIN } from '../support/bridge.ts'
import { cliEnv } from '../support/cli.ts'
import { openHouse } from '../support/house.ts'
import { post, register } from '../support/running.ts'

const LATER = { timeout: 60_000, interval: 200 }
const MARK = 'the shell is back'

test('top in a terminal of 80×24 filters with /, has no line over 80, and restores the terminal on q and on SIGTERM (ux.md, check 29)', async () => {
  const house = await openHouse()
  await register(house, 'echo', [], { name: 'github' })
  await register(house, 'echo', [], { name: 'postgres' })
  await post(house, '/api/servers/github/start')
  const env = Object.entries(cliEnv(house)).map(([name, value]) => `${name}=${value}`)
  const socket = `toolroom-${randomUUID()}`
  const tmux = (...words: string[]) =>
    execFileSync('tmux', ['-L', socket, '-f', '/dev/null', ...words], { encoding: 'utf8' })
  onTestFinished(() => void tmux('kill-server'))
  tmux('new-session', '-d', '-x', '80', '-y', '24', 'env', `PS1=${MARK}> `, ...env, 'sh')
  const screen = () => tmux('capture-pane', '-p')
  const start = () => tmux('send-keys', `clear; '${process.execPath}' '${MAIN}' top; echo code $?`, 'Enter')
  const isAlternate = () => tmux('display-message', '-p', '#{alternate_on} #{cursor_flag}').trim()

  start()
  await expect
    .poll(screen, LATER)
    .toMatch(/^ 2 servers .*\n {2}NAME +STATUS .*\n> github +● running .*\n {2}postgres /)
  expect(isAlternate()).toBe('1 0')
  const lines = screen().split('\n')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  tmux('send-keys', '/git', 'Enter')
  await expect.poll(screen, LATER).not.toContain('postgres')
  expect(screen()).toMatch(/> github[\s\S]*\[git\]/)
  tmux('send-keys', 's')
  await expect.poll(screen, LATER).toContain('sort: calls')
  tmux('send-keys', 'q')
  await expect.poll(screen, LATER).toMatch(/code 0\n/)
  expect(isAlternate()).toBe('0 1')
  expect(screen()).toContain(MARK)

  start()
  await expect.poll(screen, LATER).toContain('> github')
  const shell = Number(tmux('display-message', '-p', '#{pane_pid}'))
  const top = listProcesses().find(({ parent }) => parent === shell) ?? expect.unreachable()
  process.kill(top.pid, 'SIGTERM')
  await expect.poll(screen, LATER).toMatch(/code 143\n/)
  expect(isAlternate()).toBe('0 1')
  tmux('send-keys', 'echo typed', 'Enter')
  await expect.poll(screen, LATER).toMatch(/> echo typed\ntyped\n/)
})
