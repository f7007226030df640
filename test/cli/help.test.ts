import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/all-commands.ts'
import { allCommands, commandHelp, overview } from '../../src/cli/commands/help-text.ts'
import { runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'

test('the help of every command fits 80×24 and has an example that is parsed (docs/checks.md, every command)', () => {
  for (const command of COMMANDS) {
    const lines = commandHelp(command).split('\n')
    expect.soft(lines.length, `lines of ${command.name}`).toBeLessThanOrEqual(24)
    expect
      .soft(Math.max(...lines.map((line) => line.length)), `columns of ${command.name}`)
      .toBeLessThanOrEqual(80)
    expect
      .soft(
        lines.some((line) => line.startsWith(`Example: toolroom ${command.name}`)),
        command.name,
      )
      .toBe(true)
  }
  const lines = overview().split('\n')
  expect(lines.length).toBeLessThanOrEqual(24)
  expect(
    Math.max(...[...lines, ...allCommands().split('\n')].map((line) => line.length)),
  ).toBeLessThanOrEqual(80)
})

test.each([
  [['--help'], 0, /^Usage: toolroom \[COMMAND\]/, ''],
  [['help', 'ls'], 0, /^List the servers/, ''],
  [['ls', '--help'], 0, /^List the servers/, ''],
  [['connect', '--help'], 0, /TOOLROOM_KEY/, ''],
  [['up', '--help'], 0, /--port N/, ''],
  [['help', 'settings'], 0, /--log-max-mb/, ''],
  [['help', 'all'], 0, /restart/, ''],
  [['--version'], 0, /^\d+\.\d+\.\d+\n$/, ''],
  [['sttaus'], 2, /^$/, "Unknown command 'sttaus'. Did you mean 'status'?"],
  [['list', '--json'], 2, /^\{"code":"usage".*Did you mean 'ls'\?"\}\n$/, "Did you mean 'ls'?"],
  [['ls', '--jsn'], 2, /^$/, "Unknown flag '--jsn'. Did you mean '--json'?"],
  [['ls', 'x'], 2, /^$/, "Unexpected argument 'x'"],
  [['info'], 2, /^$/, 'SERVER is missing'],
  [['info', '--json', '--url'], 2, /^\{"code":"usage"/, '--url needs a value'],
])('toolroom %j exits %i', async (argv, code, stdout, stderr) => {
  const ended = await runCli({ HOME: ownFolder() }, argv)
  expect(ended).toMatchObject({ code, stderr: expect.stringContaining(stderr) })
  expect(ended.stdout).toMatch(stdout)
})
