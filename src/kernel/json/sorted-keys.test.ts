import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { sorted } from './sorted-keys.ts'

/** As it was written first. Hashes of it are stored. */
function entriesSorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(entriesSorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, inner]): [string, unknown] => [key, entriesSorted(inner)])
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)))
}

test('sorted values are the same text for every order of keys', () => {
  const text = '{"b":1,"a":{"d":[{"z":1,"y":2}],"c":null},"__proto__":{"q":1,"p":2},"10":1,"9":2}'
  const other = '{"9":2,"10":1,"__proto__":{"p":2,"q":1},"a":{"c":null,"d":[{"y":2,"z":1}]},"b":1}'
  const result = JSON.stringify(sorted(JSON.parse(text)))
  expect(result).toBe('{"9":2,"10":1,"__proto__":{"p":2,"q":1},"a":{"c":null,"d":[{"y":2,"z":1}]},"b":1}')
  expect(JSON.stringify(sorted(JSON.parse(other)))).toBe(result)
})

test('hashes that are stored stay valid: any JSON value gives the text that it always gave', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (text) => {
      const value: unknown = JSON.parse(text)
      expect(JSON.stringify(sorted(value))).toBe(JSON.stringify(entriesSorted(value)))
    }),
    { numRuns: runs(300, 2000) },
  )
  const tool = {
    name: 'add',
    inputSchema: { type: 'object', required: ['b'], properties: { b: {}, a: {} } },
  }
  const hash = createHash('sha256')
    .update(JSON.stringify(sorted(tool)))
    .digest('hex')
  expect(hash).toMatchInlineSnapshot(`"d9168f4a1273da9d66c37097b904bad25cc6f28fb1d83c45d7769cd3b68855c6"`)
})
