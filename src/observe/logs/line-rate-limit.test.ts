import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import { type Line, LineRateLimit, SERVER_RATE } from './line-rate-limit.ts'
import { levelOf } from './server-lines.ts'

const line = (text: string): Line => ({ ts: 1, stream: 'stderr', text, cut: 0 })

function limited(rules = SERVER_RATE) {
  const written: { message: string; repeat: number }[] = []
  let now = 0
  const tick = (ms: number) => {
    now += ms
  }
  const lines = new LineRateLimit({
    rules,
    clock: () => now,
    write: ({ text }, repeat) => written.push({ message: text, repeat }) > 0,
    onDropped: (lines) => written.push({ message: `${lines} lines were dropped`, repeat: 1 }) > 0,
  })
  return { lines, written, tick }
}

test('a repeated line is written once at first and once more with the repeat count', () => {
  const { lines, written } = limited()
  for (const message of ['a', 'b', 'b', 'b', 'a']) lines.push(line(message))
  lines.flush()
  expect(written).toEqual([
    { message: 'a', repeat: 1 },
    { message: 'b', repeat: 1 },
    { message: 'b', repeat: 2 },
    { message: 'a', repeat: 1 },
  ])
  expect(lines.dropped).toBe(0)
})

test('a flood of lines is accepted up to the burst, then at the rate, and one line reports the drops', () => {
  const { lines, written, tick } = limited()
  for (let n = 0; n < 50_000; n += 1) {
    lines.push(line(`line ${n}`))
    if (n % 50 === 49) tick(1)
  }
  lines.flush()
  const stored = written.length - 1
  expect(stored).toBeGreaterThanOrEqual(24_990)
  expect(stored).toBeLessThanOrEqual(25_010)
  expect(lines.dropped).toBe(50_000 - stored)
  expect(written.at(-1)?.message).toBe(`${lines.dropped} lines were dropped`)
  lines.flush()
  expect(written.filter(({ message }) => message.includes('were dropped'))).toHaveLength(1)
})

test('every line is either written, part of a repeat count, or counted as dropped', () => {
  const event = fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.constant(null), fc.nat(30))
  fc.assert(
    fc.property(fc.array(event, { maxLength: 400 }), (events) => {
      const { lines, written, tick } = limited({ ratePerS: 100, burst: 5 })
      for (const each of events) {
        if (each === null) lines.flush()
        else if (typeof each === 'number') tick(each)
        else lines.push(line(each))
      }
      lines.flush()
      const sent = events.filter((each) => typeof each === 'string').length
      const shown = written.filter(({ message }) => message.length === 1)
      const reported = written.filter(({ message }) => message.length > 1)
      expect(shown.reduce((sum, { repeat }) => sum + repeat, 0)).toBe(sent - lines.dropped)
      expect(reported.reduce((sum, { message }) => sum + Number.parseInt(message, 10), 0)).toBe(lines.dropped)
    }),
  )
})

describe('levelOf', () => {
  test.each([
    ['Server listening on stdio', 'info'],
    ['[warn] cache is cold', 'warn'],
    ['2026-11-15 09:30:00,123 - root - ERROR - connection lost', 'error'],
    ['ERROR:root:boom', 'error'],
    ['level=debug msg="x"', 'debug'],
    ['{"level":"warn","msg":"x"}', 'warn'],
    ['{"level":50,"msg":"x"}', 'error'],
    ['{"level":30,"error":"none"}', 'info'],
    ['TypeError: x is not a function', 'error'],
    ['Traceback (most recent call last):', 'error'],
    ['npm ERR! code E404', 'error'],
    ['FATAL out of memory', 'fatal'],
    ["thread 'main' panicked at src/main.rs", 'error'],
    ['no errors found', 'info'],
    ['the error handler was installed', 'info'],
    ['Info: ready', 'info'],
    ['(node:1) Warning: something', 'warn'],
    ['', 'info'],
  ])('a line that reads %j has the level %s', (text, level) => {
    expect(levelOf(text)).toBe(level)
  })

  test('the levels of five lines of several megabytes are detected within 500 ms', () => {
    const spent = stopwatch()
    for (const piece of ['error ', 'level=', '[', 'A', ' ']) levelOf(piece.repeat(1_000_000))
    expect(spent()).toBeLessThan(500)
  })
})

test('the same line is not folded when another process, the other stream or another end wrote it', () => {
  const { lines, written } = limited()
  const one = line('a')
  for (const other of [
    one,
    { ...one, instance: 'i1' },
    { ...one, instance: 'i2' },
    { ...one, stream: 'stdout' },
    { ...one, cut: 5 },
  ] as const)
    lines.push(other)
  lines.flush()
  expect(written).toEqual(Array(5).fill({ message: 'a', repeat: 1 }))
})
