import { expect, test } from 'vitest'
import { listProcesses } from '../../src/supervisor/process/process-table.ts'
import { cliEnv } from '../support/cli.ts'
import { openHouse } from '../support/house.ts'
import { post, register } from '../support/running.ts'
import { openTerminal } from '../support/terminal.ts'

const LATER = { timeout: 60_000, interval: 200 }
const MARK = 'the shell is back'

test('top in a terminal of 80×24 filters with /, has no line over 80, and restores the terminal on q and on SIGTERM (ux.md, check 29)', async () => {
  const house = await openHouse()
  await register(house, 'echo', [], { name: 'github' })
  await register(house, 'echo', [], { name: 'postgres' })
  await post(house, '/api/servers/github/start')
  const { tmux, screen, start, press, shellPid } = openTerminal({ PS1: `${MARK}> `, ...cliEnv(house) })
  const isAlternate = () => tmux('display-message', '-p', '#{alternate_on} #{cursor_flag}').trim()

  start('top')
  await expect
    .poll(screen, LATER)
    .toMatch(/^ 2 servers .*\n {2}NAME +STATUS .*\n> github +● running .*\n {2}postgres /)
  expect(isAlternate()).toBe('1 0')
  const lines = screen().split('\n')
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(80)
  press('/git', 'Enter')
  await expect.poll(screen, LATER).not.toContain('postgres')
  expect(screen()).toMatch(/> github[\s\S]*\[git\]/)
  press('s')
  await expect.poll(screen, LATER).toContain('sort: calls')
  press('q')
  await expect.poll(screen, LATER).toMatch(/code 0\n/)
  expect(isAlternate()).toBe('0 1')
  expect(screen()).toContain(MARK)

  start('top')
  await expect.poll(screen, LATER).toContain('> github')
  const top = listProcesses().find(({ parent }) => parent === shellPid()) ?? expect.unreachable()
  process.kill(top.pid, 'SIGTERM')
  await expect.poll(screen, LATER).toMatch(/code 143\n/)
  expect(isAlternate()).toBe('0 1')
  press('echo typed', 'Enter')
  await expect.poll(screen, LATER).toMatch(/> echo typed\ntyped\n/)
})
