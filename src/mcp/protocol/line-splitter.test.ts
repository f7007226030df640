import { PassThrough } from 'node:stream'
import { setImmediate as turn } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { stopwatch } from '../../../test/support/measuring.ts'
import { LineReader, LineSplitter, LOG_LINE_MAX_BYTES } from './line-splitter.ts'

type Seen = { readonly text: string; readonly cut: number }

test.each<[string, string[], Seen[]]>([
  ['one line', ['a\n'], [{ text: 'a', cut: 0 }]],
  ['a line in three chunks', ['a', 'b', 'c\n'], [{ text: 'abc', cut: 0 }]],
  ['three lines in one chunk', ['a\nb\nc\n'], texts('a', 'b', 'c')],
  ['an empty line', ['\n\n'], texts('', '')],
  ['a return before the newline', ['a\r\n'], texts('a')],
  ['a return and its newline in two chunks', ['a\r', '\nb\n'], texts('a', 'b')],
  ['two returns, of which one is dropped', ['a\r\r\n'], texts('a\r')],
  ['a return inside a line', ['a\rb\n'], texts('a\rb')],
  ['the end without a newline', ['a\nb'], texts('a', 'b')],
  ['the end after a newline', ['a\n'], texts('a')],
  ['an empty stream', [], []],
  ['an empty chunk', ['', 'a', '', '\n'], texts('a')],
  ['a line of exactly the limit', ['12345678\n'], texts('12345678')],
  ['a line of the limit and a return', ['12345678\r\n'], texts('12345678')],
  ['a line of the limit and a return, in pieces', ['1234', '5678\r', '\n'], texts('12345678')],
  ['one byte too many', ['123456789\na\n'], [{ text: '12345678', cut: 1 }, ...texts('a')]],
  [
    'many bytes too many, in pieces',
    ['123456', '789', 'abc', '\nd\n'],
    [{ text: '12345678', cut: 4 }, ...texts('d')],
  ],
  ['a line that is too long and never ends', ['12345678', '9'], [{ text: '12345678', cut: 1 }]],
])('lines are correct for %s', (_, chunks, expected) => {
  expect(
    linesOf(
      chunks.map((chunk) => Buffer.from(chunk)),
      8,
    ).map(textOf),
  ).toEqual(expected)
})

test('a character that is split over two chunks is complete in its line', () => {
  const bytes = Buffer.from('größe 🎈\n')
  for (let at = 0; at <= bytes.length; at++) {
    const [line] = linesOf([bytes.subarray(0, at), bytes.subarray(at)], 64)
    expect(line?.bytes.toString()).toBe('größe 🎈')
  }
})

test('lines do not depend on how the bytes are split into chunks', () => {
  const byte = fc.oneof(fc.constantFrom(0x0a, 0x0d, 0x61), fc.nat({ max: 255 }))
  const chunk = fc.array(byte, { maxLength: 40 }).map((bytes) => Buffer.from(bytes))
  fc.assert(
    fc.property(fc.array(chunk, { maxLength: 20 }), fc.integer({ min: 1, max: 30 }), (chunks, maxBytes) => {
      expect(linesOf(chunks, maxBytes).map(hexOf)).toEqual(naive(Buffer.concat(chunks), maxBytes).map(hexOf))
    }),
    { numRuns: runs(300, 2000) },
  )
})

test('the buffer grows by doubling, so a million single bytes do not cause a million copies', () => {
  const sizes = new Set<number>()
  const lines = new LineSplitter(1024 * 1024, () => undefined)
  const one = Buffer.from('x')
  for (let sent = 0; sent < 1_000_000; sent++) {
    lines.push(one)
    sizes.add(lines.heldBytes)
  }
  expect(sizes.size).toBeLessThanOrEqual(11)
  expect(Math.max(...sizes)).toBeLessThanOrEqual(1024 * 1024)
})

test('a line of 100 MB in chunks of 64 KiB takes no more memory than the limit, and the next line is complete', () => {
  const chunk = Buffer.alloc(64 * 1024, 'x')
  const count = 1600
  const seen: Seen[] = []
  let held = 0
  const lines = new LineSplitter(LOG_LINE_MAX_BYTES, (line) => seen.push(lengthOf(line)))
  const spent = stopwatch()
  for (let sent = 0; sent < count; sent++) {
    lines.push(chunk)
    held = Math.max(held, lines.heldBytes)
  }
  lines.push(Buffer.from('\nnext\n'))

  expect(spent()).toBeLessThan(1000)
  expect(held).toBe(LOG_LINE_MAX_BYTES)
  expect(lines.heldBytes).toBe(0)
  expect(seen).toEqual([
    { text: String(LOG_LINE_MAX_BYTES), cut: count * chunk.length - LOG_LINE_MAX_BYTES },
    { text: '4', cut: 0 },
  ])
})

test('a line does not change when later chunks arrive', () => {
  const kept: Buffer[] = []
  const lines = new LineSplitter(64, ({ bytes }) => kept.push(bytes))
  for (const part of ['one', ' and\ntwo', ' too\n', 'three\n']) lines.push(Buffer.from(part))
  expect(kept.map(String)).toEqual(['one and', 'two too', 'three'])
})

describe('line reader', () => {
  const LINES = 200

  /** A reader that takes half a millisecond per line. */
  function slowReader() {
    const stream = new PassThrough({ highWaterMark: 16 })
    const seen: string[] = []
    new LineReader(stream, 64, ({ bytes }) => {
      for (const end = performance.now() + 0.5; performance.now() < end; );
      seen.push(bytes.toString())
    })
    return { stream, seen }
  }
  const all = Array.from({ length: LINES }, (_, n) => `line ${n}`)

  test('many lines at once are read over several turns of the event loop, and none is lost', async () => {
    const { stream, seen } = slowReader()
    stream.write(Buffer.from(`${all.join('\n')}\n`))
    const linesPerTurn: number[] = []
    for (let before = 0; seen.length < LINES; before = seen.length) {
      await turn()
      linesPerTurn.push(seen.length - before)
    }
    expect(seen).toEqual(all)
    // A turn ends after 3 ms, and each line takes at least 0.5 ms: 7 lines. The first count can contain two turns, because
    // the stream may deliver during the write or after it.
    expect(Math.max(...linesPerTurn)).toBeLessThanOrEqual(2 * 7)
    stream.write('last line\n')
    await turn()
    expect(seen.at(-1)).toBe('last line')
  })

  test('a writer that is faster than the reader has to wait', async () => {
    const { stream, seen } = slowReader()
    expect(stream.write(Buffer.from(`${all.join('\n')}\n`))).toBe(true)
    expect(stream.write('one more\n'.repeat(10))).toBe(false)
    while (seen.length < LINES + 10) await turn()
    expect(seen.slice(0, LINES)).toEqual(all)
  })

  test.each<[string, (stream: PassThrough) => void]>([
    ['ends', (stream) => stream.end()],
    ['is resumed elsewhere and ends', (stream) => stream.resume().end()],
    ['is destroyed', (stream) => stream.destroy()],
  ])(
    'a stream that %s while lines wait delivers all of them, including the last one without a newline',
    async (_, end) => {
      const { stream, seen } = slowReader()
      stream.write(Buffer.from(all.join('\n')))
      await turn()
      end(stream)
      for (let n = 0; n < 1000 && seen.length < LINES; n += 1) await turn()
      expect(seen).toEqual(all)
    },
  )
})

function texts(...all: string[]): Seen[] {
  return all.map((text) => ({ text, cut: 0 }))
}

type Found = { readonly bytes: Buffer; readonly cut: number }
const textOf = ({ bytes, cut }: Found): Seen => ({ text: bytes.toString(), cut })
const hexOf = ({ bytes, cut }: Found): Seen => ({ text: bytes.toString('hex'), cut })
const lengthOf = ({ bytes, cut }: Found): Seen => ({ text: String(bytes.length), cut })

function linesOf(chunks: readonly Buffer[], maxBytes: number): Found[] {
  const found: Found[] = []
  const lines = new LineSplitter(maxBytes, (line) => found.push(line))
  for (const chunk of chunks) {
    lines.push(chunk)
    expect(lines.heldBytes).toBeLessThanOrEqual(maxBytes)
  }
  lines.end()
  return found
}

/** A simple implementation with everything in memory. In latin1 each byte is one character. */
function naive(all: Buffer, maxBytes: number): Found[] {
  const lines = all.toString('latin1').split('\n')
  const whole = lines.at(-1) === '' ? lines.slice(0, -1) : lines
  return whole.map((line) => {
    const bytes = Buffer.from(line.replace(/\r$/, ''), 'latin1')
    return { bytes: bytes.subarray(0, maxBytes), cut: Math.max(0, bytes.length - maxBytes) }
  })
}
