import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Sketch } from './quantile-sketch.ts'
import { ByteReader, ByteWriter } from './varint-bytes.ts'

const SHARES = [0, 0.01, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1]
/** Half the width of a bucket, plus rounding. */
const WITHIN = 0.01

const sketchOf = (values: readonly number[]): Sketch => {
  const sketch = new Sketch()
  for (const value of values) sketch.record(value)
  return sketch
}
const exact = (values: readonly number[], q: number): number => {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.max(0, Math.ceil(q * sorted.length - 1e-9) - 1)] as number
}
const bytesOf = (sketch: Sketch): Uint8Array => {
  const writer = new ByteWriter()
  sketch.write(writer)
  return writer.done()
}
const pictureOf = (sketch: Sketch) => ({
  count: sketch.count,
  min: sketch.min,
  max: sketch.max,
  quantiles: SHARES.map((q) => sketch.quantile(q)),
})

const value = fc.oneof(
  fc.double({ min: 1e-6, max: 1e15, noNaN: true }),
  fc.double({ min: 0.01, max: 60_000, noNaN: true }),
  fc.integer({ min: 0, max: 100 }),
  fc.constantFrom(0, 1e-6, 1, 1.02, 1000),
)
const values = fc.array(value, { minLength: 1, maxLength: 300 })

test('every quantile is within 1 % of the exact value', () => {
  fc.assert(
    fc.property(values, (list) => {
      const sketch = sketchOf(list)
      for (const q of SHARES) {
        const right = exact(list, q)
        expect(Math.abs((sketch.quantile(q) as number) - right)).toBeLessThanOrEqual(right * WITHIN)
      }
      expect(sketch).toMatchObject({ count: list.length, min: Math.min(...list), max: Math.max(...list) })
    }),
  )
})

test('merging two sketches equals one sketch of all values', () => {
  fc.assert(
    fc.property(values, values, (one, two) => {
      const merged = sketchOf(one)
      merged.merge(sketchOf(two))
      const whole = sketchOf([...one, ...two])
      expect(pictureOf(merged)).toEqual(pictureOf(whole))
      expect(Math.abs(merged.sum - whole.sum)).toBeLessThanOrEqual(whole.sum * 1e-12)
    }),
  )
})

test('a merged sketch can be subtracted, and subtracting another one returns false', () => {
  fc.assert(
    fc.property(values, values, (one, two) => {
      const sketch = sketchOf(one)
      sketch.merge(sketchOf(two))
      expect(sketch.subtract(sketchOf(two))).toBe(true)
      expect(sketch.count).toBe(one.length)
      for (const q of SHARES) {
        const right = exact(one, q)
        expect(Math.abs((sketch.quantile(q) as number) - right)).toBeLessThanOrEqual(right * WITHIN)
      }
      expect(sketch.subtract(sketchOf([...one, 5]))).toBe(false)
    }),
  )
})

test('a sketch is the same after writing and reading it', () => {
  fc.assert(
    fc.property(fc.array(value, { maxLength: 300 }), (list) => {
      const sketch = sketchOf(list)
      const again = Sketch.read(new ByteReader(bytesOf(sketch)))
      expect(again).toEqual(sketch)
      expect(pictureOf(again)).toEqual(pictureOf(sketch))
    }),
  )
})

describe('sketch of few values', () => {
  test('an empty sketch has no quantile', () => expect(new Sketch().quantile(0.5)).toBeNull())

  test.each([0, 1e-300, 1e-6, 0.3, 42, 1e15])(
    'every quantile of the single value %d is that value',
    (only) => {
      const sketch = sketchOf([only])
      expect(SHARES.map((q) => sketch.quantile(q))).toEqual(SHARES.map(() => only))
    },
  )

  test('a sketch of one value takes less than 16 bytes', () =>
    expect(bytesOf(sketchOf([123.4])).length).toBeLessThan(16))
})

test('countUpTo counts the values up to a limit with the precision of a bucket', () => {
  const sketch = sketchOf([0, 1, 5, 9, 50, 500])
  expect([0.5, 2, 10, 100, 1000].map((limit) => sketch.countUpTo(limit))).toEqual([1, 2, 4, 5, 6])
})

test('a sketch that lost all its values is like a new one, and an empty one changes nothing', () => {
  const [sketch, own] = [new Sketch(), new Sketch()]
  for (const one of [sketch, own]) one.record(7)
  expect(sketch.subtract(new Sketch())).toBe(true)
  expect([sketch.count, sketch.min, sketch.max]).toEqual([1, 7, 7])
  expect(sketch.subtract(own)).toBe(true)
  expect([sketch.count, sketch.quantile(0.5)]).toEqual([0, null])
  sketch.record(3)
  expect([sketch.min, sketch.max, sketch.quantile(0.5)]).toEqual([3, 3, 3])
})
