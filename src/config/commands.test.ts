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
])('%j names %j', (argv, found) => {
  expect(commandOf(argv)).toEqual(found)
})

test.each([
  ['status', ['--json', '--url', 'http://x'], { '--json': '', '--url': 'http://x' }],
  ['connect', ['--server=a=b'], { '--server': 'a=b' }],
  ['connect', ['--server', 'x', '-h'], 'help'],
  ['connect', [], {}],
] as const)('%s %j is read', (name, words, given) => {
  expect(readCommand(name, words)).toEqual(given)
})

test.each([
  ['status', ['--json=1'], "status knows no '--json=1'"],
  ['status', ['--server', 'x'], "status knows no '--server'"],
  ['connect', ['toString'], "connect knows no 'toString'"],
  ['connect', ['--url'], '--url needs a value'],
  ['connect', ['--url='], '--url needs a value'],
] as const)('%s %j is refused', (name, words, sentence) => {
  expect(() => readCommand(name, words)).toThrow(sentence)
})

test('help lists the commands, and each explains its flags', () => {
  for (const word of ['up', 'status', 'connect']) expect(HELP).toMatch(new RegExp(`^ {2}${word} `, 'm'))
  expect(HELP).toContain('3 not running')
  expect(commandHelp('connect')).toMatch(/--server ID[^\n]+\n {2}--url URL/)
  expect(commandHelp('connect')).toContain('TOOLROOM_KEY')
})
