import fc from 'fast-check'
import { expect, test } from 'vitest'
import { objectText } from '../../../test/support/arbitrary-json.ts'
import { runs } from '../../../test/support/full-or-short.ts'
import { invalidAt } from './json-checks.ts'

const wholly = (text: string) => {
  const bytes = Buffer.from(text)
  return invalidAt(bytes, { start: 0, end: bytes.length })
}

test('valid JSON of any notation is valid', () => {
  fc.assert(
    fc.property(objectText, (text) => {
      expect(wholly(text)).toBe(-1)
      const bytes = Buffer.from(`xx${text}]]`)
      expect(invalidAt(bytes, { start: 2, end: bytes.length - 2 })).toBe(-1)
    }),
    { numRuns: runs(200, 1000) },
  )
})

test('JSON with one character removed, doubled or replaced outside of its strings is judged like JSON.parse judges it', () => {
  const changed = fc.tuple(
    objectText,
    fc.nat(),
    fc.constantFrom('', 'N', ',', ':', '}', ']', '{', '[', '0', '-', '.', 'e', ' '),
  )
  fc.assert(
    fc.property(changed, ([text, place, other]) => {
      const outside = [...withoutStrings(text)].flatMap((each, at) => (each === '_' ? [] : [at]))
      const at = outside[place % outside.length] ?? 0
      for (const damaged of [
        text.slice(0, at) + other + text.slice(at + 1),
        text.slice(0, at) + other + text.slice(at),
      ])
        expect(wholly(damaged) < 0, damaged).toBe(isJson(damaged))
    }),
    { numRuns: runs(200, 10_000) },
  )
})

test.each([
  ['{"a":NaN}', 5],
  ['[1,Infinity]', 3],
  ['nul', 0],
  ['', 0],
  ['{"a":1}}', 7],
  ['[1 2]', 3],
  ['{"a"}', 4],
  ['"open', 0],
])('the first byte that does not fit in %s is at %i', (text, at) => {
  expect(wholly(text)).toBe(at)
})

test('1,000 levels are valid, and 1,001 are not', () => {
  expect(wholly('['.repeat(1000) + ']'.repeat(1000))).toBe(-1)
  expect(wholly('['.repeat(1001) + ']'.repeat(1001))).toBe(1000)
})

/** Characters of strings are replaced by `_`. */
const withoutStrings = (text: string) =>
  text.replaceAll(/"(?:[^"\\]|\\.)*"/gs, (string) => '_'.repeat(string.length))

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
