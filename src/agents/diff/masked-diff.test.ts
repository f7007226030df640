import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { cpuOf } from '../../../test/support/linear.ts'
import { maskLine } from './masked-diff.ts'

const MEGABYTE = 1024 * 1024
const visible = new Map([
  ['npx', 'npx'],
  ['--token=abc', '--token=***'],
])

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
    ?.map((part) => visible.get(part) ?? part)
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
