import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Line, LineGate, SERVER_GATE } from './line-gate.ts'
import { levelOf } from './line-level.ts'

const line = (text: string): Line => ({ ts: 1, stream: 'stderr', text, cut: 0 })

function gate(rules = SERVER_GATE) {
  const written: { message: string; repeat: number }[] = []
  let now = 0
  const tick = (ms: number) => {
    now += ms
  }
  const lines = new LineGate({
    rules,
    clock: () => now,
    write: ({ text }, repeat) => written.push({ message: text, repeat }) > 0,
    onDropped: (lines) => written.push({ message: `${lines} lines were dropped`, repeat: 1 }) > 0,
  })
  return { lines, written, tick }
}

test('a line that comes again in a row is written at once, and then once with the number of times', () => {
  const { lines, written } = gate()
  for (const message of ['a', 'b', 'b', 'b', 'a']) lines.push(line(message))
  lines.flush()
  expect(written).toEqual([
    { message: 'a', repeat: 1 },
    { message: 'b', repeat: 1 },
    { message: 'b', repeat: 2 },
    { message: 'a', repeat: 1 },
  ])
  expect(lines.counts).toEqual({ sent: 5, stored: 4, folded: 1, dropped: 0 })
})

test('a flood passes up to the burst, then at the rate, and one line says how many did not', () => {
  const { lines, written, tick } = gate()
  for (let n = 0; n < 50_000; n += 1) {
    lines.push(line(`line ${n}`))
    if (n % 50 === 49) tick(1)
  }
  lines.flush()
  expect(lines.counts.stored).toBeGreaterThanOrEqual(24_990)
  expect(lines.counts.stored).toBeLessThanOrEqual(25_010)
  expect(written.at(-1)?.message).toBe(`${lines.counts.dropped} lines were dropped`)
  lines.flush()
  expect(written.filter(({ message }) => message.includes('were dropped'))).toHaveLength(1)
})

test('stored + folded + dropped = sent, whatever comes', () => {
  const event = fc.oneof(fc.constantFrom('a', 'b', 'c'), fc.constant(null), fc.nat(30))
  fc.assert(
    fc.property(fc.array(event, { maxLength: 400 }), (events) => {
      const { lines, written, tick } = gate({ ratePerS: 100, burst: 5 })
      for (const each of events) {
        if (each === null) lines.flush()
        else if (typeof each === 'number') tick(each)
        else lines.push(line(each))
      }
      lines.flush()
      const { sent, stored, folded, dropped } = lines.counts
      const shown = written.filter(({ message }) => message.length === 1)
      expect(stored + folded + dropped).toBe(sent)
      expect(shown.length).toBe(stored)
      expect(shown.reduce((sum, { repeat }) => sum + repeat, 0)).toBe(sent - dropped)
    }),
  )
})

describe('the level of a line', () => {
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
  ])('%j is %s', (text, level) => {
    expect(levelOf(text)).toBe(level)
  })

  test('of a megabyte takes no time', () => {
    const startedAt = performance.now()
    for (const piece of ['error ', 'level=', '[', 'A', ' ']) levelOf(piece.repeat(1_000_000))
    expect(performance.now() - startedAt).toBeLessThan(500)
  })
})
