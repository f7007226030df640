import { expect, test } from 'vitest'
import { commandHelp, commandOf, readCommand } from './commands.ts'
import { HELP } from './help.ts'

test.each([
  [['status', '--json'], { name: 'status', words: ['--json'] }],
  [['connect'], { name: 'connect', words: [] }],
  [['help', 'connect'], { name: 'connect', words: ['--help'] }],
  [['up', '--port', '1'], undefined],
  [['--port', 'status'], undefined],
  [['constructor'], undefined],
  [['help'], undefined],
  [[], undefined],
])('the command in %j is %j', (argv, found) => {
  expect(commandOf(argv)).toEqual(found)
})

test.each([
  ['status', ['--json', '--url', 'http://x'], { json: 'true', url: 'http://x' }],
  ['status', ['--json', 'false'], { json: 'false' }],
  ['connect', ['--server=a=b'], { server: 'a=b' }],
  ['connect', ['--server', '-a', '--server', 'b'], { server: 'b' }],
  ['connect', [], {}],
] as const)('the command %s with %j is parsed', (name, words, given) => {
  const flags = readCommand(name, words)
  expect(flags === 'help' ? flags : Object.fromEntries(flags)).toEqual(given)
})

test.each([[['--server', 'x', '-h']], [['--help', '--server']]])('connect %j prints the help', (words) => {
  expect(readCommand('connect', words)).toBe('help')
})

test.each([
  ['status', ['--json=1'], '--json must be true or false, not "1"'],
  ['status', ['--json', '1'], "Unexpected argument '1'; see toolroom status --help"],
  ['status', ['--server', 'x'], "Unknown flag '--server'; see toolroom status --help"],
  ['status', ['--', 'x'], "Unknown flag '--'; see toolroom status --help"],
  ['status', ['-x'], "Unknown flag '-x'; see toolroom status --help"],
  ['connect', ['toString'], "Unexpected argument 'toString'; see toolroom connect --help"],
  ['connect', ['--toString'], "Unknown flag '--toString'; see toolroom connect --help"],
  ['connect', ['--__proto__=x'], "Unknown flag '--__proto__'; see toolroom connect --help"],
  ['connect', ['--url'], '--url needs a value'],
  ['connect', ['--url='], '--url needs a value'],
] as const)('the command %s with %j is refused', (name, words, sentence) => {
  expect(() => readCommand(name, words)).toThrow(sentence)
})

test('the help lists the commands, and the help of a command lists its flags', () => {
  for (const word of ['up', 'status', 'connect']) expect(HELP).toMatch(new RegExp(`^ {2}${word} `, 'm'))
  expect(HELP).toContain('3 not running')
  expect(commandHelp('connect')).toMatch(/--server ID[^\n]+\n {2}--url URL/)
  expect(commandHelp('connect')).toContain('TOOLROOM_KEY')
})
