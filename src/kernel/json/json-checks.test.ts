import fc from 'fast-check'
import { expect, test } from 'vitest'
import { leastCpuMs } from '../../../test/support/measuring.ts'
import { closingQuote, isDeeperThan } from './json-checks.ts'

const MIB = 1024 * 1024
const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const isDeep = (text: string, max = 2) => isDeeperThan(Buffer.from(text), max)

test.each([
  [false, '[[1, 2, 3, 4]]'],
  [true, '[[[1, 2, 3]]]'],
  [true, '{"a":{"b":{"c":1}}}'],
  [false, '[[],[],[],[],[]]'],
  [false, '["[[[[[", "]"]'],
  [false, '["\\"[[[[[", 1]'],
  [true, '["\\\\", [[1]]]'],
  [false, `["${'x'.repeat(100)}[[[\\"[[[", 1]`],
  [true, `["${'x'.repeat(100)}\\\\\\\\", [[1]]]`],
])('whether a text is deeper than two levels is %s for %s', (deep, text) => {
  expect(isDeep(text)).toBe(deep)
})

test('the limit is exact', () => {
  expect([isDeep(nested(64), 64), isDeep(nested(65), 64)]).toEqual([false, true])
})

test('the depth of any JSON is that of the parsed value', () => {
  const depthOf = (value: unknown): number =>
    typeof value !== 'object' || value === null
      ? 0
      : 1 + Math.max(0, ...Object.values(value).map((inner) => depthOf(inner)))
  const text = fc.oneof(
    fc.string(),
    fc.string({ unit: fc.constantFrom('"', '\\', '[', '{', 'é', 'x'), maxLength: 200 }),
  )
  fc.assert(
    fc.property(fc.json({ maxDepth: 8, stringUnit: 'binary' }), text, (json, string) => {
      const value = [JSON.parse(json), string]
      const bytes = Buffer.from(JSON.stringify(value) + ' '.repeat(40)) // shorter texts are not scanned
      const depth = depthOf(value)
      for (const max of [depth - 1, depth]) expect(isDeeperThan(bytes, max)).toBe(depth > max)
    }),
  )
})

test('the end of any string is found', () => {
  const text = fc.string({ unit: fc.constantFrom('"', '\\', 'x', 'é', '\n'), maxLength: 300 })
  fc.assert(
    fc.property(text, (string) => {
      const bytes = Buffer.from(`${JSON.stringify(string)}"`)
      expect(closingQuote(bytes, 1)).toBe(bytes.length - 2)
    }),
  )
})

test.each([
  ['escaped quotes', '\\"'],
  ['backslashes', '\\\\'],
  ['brackets in a string', '[['],
])('8 MiB of %s cost at most ten times the CPU time of 8 MiB of short strings', async (_, unit) => {
  const cpuOf = (text: string) => {
    const bytes = Buffer.from(text)
    return leastCpuMs(() => expect(isDeeperThan(bytes, 64)).toBe(false))
  }
  const control = await cpuOf(`[${'"abcd",'.repeat((8 * MIB) / 7)}1]`)
  expect(await cpuOf(`["${unit.repeat((8 * MIB) / unit.length)}"]`)).toBeLessThan(10 * control)
})
