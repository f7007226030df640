import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { cpuOf } from '../../../test/support/linear.ts'
import { maskLine, visibleText } from './masked-diff.ts'
import { unifiedDiff } from './unified-diff.ts'

const MEGABYTE = 1024 * 1024
const known = new Map([
  ['npx', 'npx'],
  ['--token=abc', '--token=***'],
])
const visible = { known }

test.each([
  ['"command": "npx", "args": ["--token=abc", "x"],', '"command": "npx", "args": ["--token=***", "***"],'],
  ["command = 'npx' # why", "command = 'npx' # ***"],
  ['[mcp_servers.x] # note', '[mcp_servers.x]'],
  ['  - npx', '  - npx'],
  ['a: some words here', 'a: ***'],
  ['a: "not closed, b: 1', 'a: "***"'],
  ["a: 'it''s', b: true", "a: '***', b: true"],
  ['"a\\"b": "c\\"d", "e": 1.5 // x', '"a\\"b": "***", "e": 1.5 // ***'],
  ['{"a": /* x */ null}', '{"a": // *** null}'],
  ['url: https://x', 'url: ***// ***'],
  ['KEY: c2VjcmV0==', 'KEY: ***='],
  ['  c2VjcmV0==', '  ***='],
  ['KEY: secret: x', 'KEY: ***: ***'],
  ['{"a": 1} "b": 2', '{"a": 1} "b": 2'],
  ['{"port":8665,"on":true,"none":null,"key":"x"}', '{"port":8665,"on":true,"none":null,"key":"***"}'],
  ['-u "secret":password', '*** "***":***'],
  ['   ', '   '],
  ['', ''],
])('the line %j is shown as %j', (line, shown) => {
  expect(maskLine(line, visible)).toBe(shown)
})

test('a value that is hidden in the old or in the new line is hidden in both, and what is shown elsewhere stays', () => {
  const lines = (...members: string[]) => `{\n${members.join(',\n')}\n}\n`
  const before = lines('  "PIN": 8080', '  "on": 1', '  "command": "npx"')
  const after = lines('  "PIN": "8080"', '  "on": 2', '  "command": "npx"')
  expect(unifiedDiff('f', before, after)(visible).split('\n').slice(4, 8)).toEqual([
    '-  "PIN": "***",',
    '-  "on": 1,',
    '+  "PIN": "***",',
    '+  "on": 2,',
  ])
})

const piece = fc.oneof(
  fc.constantFrom(
    '"',
    "'",
    '\\',
    '\\"',
    '\\\\"',
    "''",
    '""',
    '/*',
    '*/',
    '//',
    '/',
    '#',
    '[',
    ']',
    '{',
    '}',
    ',',
  ),
  fc.constantFrom(
    ':',
    '=',
    ': ',
    '= ',
    ' ',
    '\t',
    'a',
    '1',
    '-',
    '~',
    '***',
    '*** ',
    'true ',
    '\u2028',
    '\u00e9',
  ),
  fc.string({ minLength: 1, maxLength: 6 }),
)

/** A third of a million parts, each looked up and joined again: what masking costs at least on this machine now. */
const least = (line: string) =>
  line
    .match(/[\s\S]{1,3}/g)
    ?.map((part) => known.get(part) ?? part)
    .join('')

test('a line of 1 MB is masked in linear time, as fast as its parts can be looked up (safety goal R9)', () => {
  fc.assert(
    fc.property(fc.array(piece, { minLength: 1, maxLength: 4 }), piece, (pieces, start) => {
      const unit = pieces.join('')
      const line = start + unit.repeat(Math.ceil(MEGABYTE / unit.length)).slice(0, MEGABYTE)
      const half = cpuOf(() => maskLine(line.slice(0, MEGABYTE / 2), visible))
      const isLinear = (ms: number) => ms <= 40 || ms / half < 3.5
      const mask = () => maskLine(line, visible)
      const quick = cpuOf(mask, undefined, 1)
      if (quick < 200 && isLinear(quick)) return
      const most = Math.max(200, 8 * cpuOf(() => least(line))) // on a free core the control takes about 40 ms, and the mask 3 times that
      const whole = cpuOf(mask, (ms) => ms < most && isLinear(ms))
      expect(whole).toBeLessThan(most)
      // Many parts move to another kind of memory at one size: a step, after which twice the text takes twice the time.
      if (!isLinear(whole)) expect(cpuOf(() => maskLine(line + line, visible)) / whole).toBeLessThan(3.5)
    }),
    { numRuns: runs(3, 50), endOnFailure: true },
  )
}, 300_000)

test('no word that is not known to be harmless is in a masked line, wherever it stands (safety goal R24)', () => {
  const line = fc.array(fc.oneof(piece, fc.constant('Zq8xSECRET')), { maxLength: 12 })
  fc.assert(
    fc.property(line, (pieces) => {
      const text = `value "Zq8xSECRET" ${pieces.join(' ')}`
      const isKey = /Zq8xSECRET[^\s]*["']?\s*[:=]/.test(text) || /^\s*\[/.test(text)
      fc.pre(!isKey)
      expect(maskLine(text, visible)).not.toContain('Zq8xSECRET')
    }),
    { numRuns: 300 },
  )
})

const root = {
  env: { WORD: 'swordfish', DIR: '/home/me/vault', PHRASE: 'correct horse' },
  apiKey: 'plainword',
  model: 'gpt-5-codex',
}
const owner = visibleText('owner', [], [], [root])

test.each([
  ['model = "gpt-5.1-codex"', 'model = "gpt-5.1-codex"'],
  [
    '  "model": "anthropic/claude-opus-4-1-20250805", "theme": "dark"',
    '  "model": "anthropic/claude-opus-4-1-20250805", "theme": "***"',
  ],
  ['notify = ["/home/me/bin/notify.sh", "loud"]', 'notify = ["/home/me/bin/notify.sh", "***"]'],
  [
    '# My favourite model, see ~/notes/models.md (from 2026-11-18)',
    '# My favourite model, see ~/notes/models.md (from 2026-11-18)',
  ],
  ["  // NOTE: don't use this one at work!", "  // NOTE: don't use this one at work!"],
  ['"a": 1, /* the old port */', '"a": 1, /* the old port */'],
])('the owner of a file sees of the line %j: %j', (line, shown) => {
  expect(maskLine(line, owner)).toBe(shown)
})

test.each([
  // Names that lead to a secret, in values and in comments.
  ['token_model = "gpt-5"', 'token_model = "***"'],
  ['"apiKeyHelper": "/home/me/key.sh"', '"apiKeyHelper": "***"'],
  ['OPENAI_DIR = "/home/me/x"', 'OPENAI_DIR = "***"'],
  ['args = ["--password", "/home/me/x"]', 'args = ["***", "***"]'],
  ['# the password is swordfish', '# the password ***'],
  ['# token abc', '# token ***'],
  // Shapes of keys and random words.
  ['model = "sk-abcdefghijklmnopqrst"', 'model = "***"'],
  ['model = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"', 'model = "***"'],
  ['path = "/home/me/aB3dE5fG7hI9jK1lM3nO5/x"', 'path = "***"'],
  ['key_file = "/9j/4AAQSkZJRg"', 'key_file = "***"'],
  ['# sk-abcdefghijklmnopqrst', '# ***'],
  ['# use hunter2 or aB3dE5 instead', '# use *** or *** instead'],
  // Lines of code that were taken out.
  ['# "swordfish",', '# ***'],
  ['// "env": { "A": "word" }', '// ***'],
  ['# DB = word', '# ***'],
  ['# - word,', '# ***'],
  // What the file has as a secret is hidden everywhere.
  ['model = "swordfish"', 'model = "***"'],
  ['dir = "/home/me/vault"', 'dir = "***"'],
  ['# it was swordfish before, plainword later', '# it was *** before, *** later'],
  ['# correct horse', '# ***'],
  // In an unquoted value, a # begins no comment.
  ['pw: abc#word', 'pw: ***# ***'],
])('what may be a credential in the line %j stays hidden from its owner, too: %j', (line, shown) => {
  expect(maskLine(line, owner)).toBe(shown)
})

test('without the parsed file, and for readers without the token, a comment and a path stay hidden', () => {
  for (const reader of [visibleText('owner', [], []), visibleText('public', [], [], [root])])
    expect(maskLine('model = "gpt-5" # see /home/me', reader)).toBe('model = "***" # ***')
})

test('a secret of a server, and a word with digits and letters, is in no line that its owner sees (safety goal R24)', () => {
  const definition = {
    type: 'stdio',
    command: 'x',
    args: [],
    env: { A: 'Zq8xSECRET', B: 'swordfish' },
    cwd: null,
  } as const
  const seen = visibleText('owner', [definition], [], [{ x: 1 }])
  const part = fc.oneof(
    piece,
    fc.constantFrom('Zq8xSECRET', 'swordfish', '# ', ' // ', 'model = ', '"model": '),
  )
  fc.assert(
    fc.property(fc.array(part, { maxLength: 12 }), (pieces) => {
      const text = `value "Zq8xSECRET" "swordfish" ${pieces.join(' ')}`
      const isKey = /(?:Zq8xSECRET|swordfish)[^\s]*["']?\s*[:=]/.test(text) || /^\s*\[/.test(text)
      fc.pre(!isKey)
      expect(maskLine(text, seen)).not.toMatch(/Zq8xSECRET|swordfish/)
    }),
    { numRuns: runs(300, 3000) },
  )
})

test('a comment of 1 MB is shown in linear time (safety goal R9)', () => {
  for (const unit of ['a ', '- ', '!', '# ', 'Ab', ',', '(a', 'a.', '*** ']) {
    const time = (length: number) => cpuOf(() => maskLine(`# ${unit.repeat(length / unit.length)}`, owner))
    time(1000)
    expect(time(MEGABYTE), unit).toBeLessThan(1500)
  }
})
