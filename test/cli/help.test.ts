import { expect, test } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/all-commands.ts'
import { allCommands, commandHelp, helpText, overview } from '../../src/cli/commands/help-text.ts'
import { runCli } from '../support/cli.ts'
import { ownFolder } from '../support/folder.ts'

/** First words of commands that are no command themselves. */
const NOUNS = [...new Set(COMMANDS.map(({ name }) => name.split(' ')[0] ?? ''))].filter(
  (word) => !COMMANDS.some(({ name }) => name === word),
)

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
  for (const noun of NOUNS) {
    const page = helpText(noun).split('\n')
    expect.soft(page.length, noun).toBeLessThanOrEqual(24)
    expect.soft(Math.max(...page.map((line) => line.length)), noun).toBeLessThanOrEqual(80)
    for (const { name } of COMMANDS.filter((one) => one.name.startsWith(`${noun} `)))
      expect
        .soft(
          page.some((line) => line.startsWith(`  ${name} `)),
          name,
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
  [['service', '--help'], 0, /^Usage: toolroom service install\|/, ''],
  [['help', 'backup'], 0, /^Usage: toolroom backup /, ''],
  [['presets', '-h'], 0, /presets apply/, ''],
  [['service'], 2, /^$/, 'toolroom service needs one of install'],
  [['servce', '--help'], 2, /^$/, "Did you mean 'service'?"],
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
