import { expect, test } from 'vitest'
import { KnownSecrets, redactText } from './known-secrets.ts'
import { plainText, printableLine } from './strip-terminal-codes.ts'

test.each([
  ['plain text\twith a tab\nand a line', 'plain text\twith a tab\nand a line'],
  ['\u001b[31mred\u001b[0m \u001b[1;32;4mgreen\u001b[m', 'red green'],
  ['\u001b[2J\u001b[1;1H\u001b[?25l\u001b[2K', ''],
  ['\u001b]0;a title\u0007text \u001b]8;;http://x\u001b\\link\u001b]8;;\u001b\\', 'text link'],
  ['\u009b31mred \u009d0;title\u009c.', 'red .'],
  ['\u001bPdevice\u001b\\a\u001b7b\u001b(Bc\u001bc', 'abc'],
  ['10%\r20%\r\nnext', '10%\u240d20%\nnext'],
  ['bell\u0007 nul\u0000 del\u007f c1\u0085', 'bell\u2407 nul\u2400 del\u2421 c1\ufffd'],
  ['open \u001b[31', 'open \u241b[31'],
  ['open \u001b]0;title', 'open \u241b]0;title'],
  ['\u001b', '\u241b'],
])(
  'the text %j is stored as %j, so that a log line cannot control a terminal (safety case 32)',
  (text, stored) => {
    expect(plainText(text)).toBe(stored)
  },
)

test('a secret with a colour code inside it is masked (safety goal R24)', () => {
  const secrets = new KnownSecrets()
  secrets.set('x', ['canary-secret-value'])
  expect(redactText('it is canary-\u001b[1msecret\u001b[0m-value', secrets)).toBe('it is ***')
  expect(redactText('ghp_0123456789\u001b[0mabcdefghijABCDEFGHIJ', secrets)).toBe('***')
})

test.each([
  ['one\r\ntwo\n', 'one two'],
  ['\u001b[31mred\u001b[0m', 'red'],
  ['safe \u202efdp.exe\u2066', 'safe  fdp.exe'],
  ['a\u2028b\u2029c', 'a b c'],
  [' \t\u200f ', undefined],
  ['x'.repeat(50), 'x'.repeat(20)],
  ['🎈'.repeat(20), '🎈'.repeat(10)],
])('the text %j of a server is quoted in an error message as %j', (text, shown) => {
  expect(printableLine(text, 20)).toBe(shown)
})
