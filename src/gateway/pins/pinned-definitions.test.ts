import { expect, test } from 'vitest'
import { type Pin, PinnedDefinitions } from './pinned-definitions.ts'

const pin = (n: number, definition = '{}'): Pin => ({
  server_id: 'a',
  kind: 'tool',
  name: `tool_${n}`,
  hash: String(n),
  definition,
  approved_at: n,
  seen_hash: null,
  seen_at: null,
})
const many = (count: number, definition?: string) =>
  Array.from({ length: count }, (_, n) => pin(n, definition))

test('10,000 pins of a list have room, none is removed for another one, and a pin may still be replaced', () => {
  const pins = new PinnedDefinitions(many(9_999))
  expect(pins.hasRoom(pin(9_999))).toBe(true)
  pins.put(pin(9_999))
  expect([pins.hasRoom(pin(10_000)), pins.hasRoom(pin(5))]).toEqual([false, true])
  expect(pins.hasRoom({ ...pin(10_000), kind: 'prompt' })).toBe(true)
  expect(pins.hasRoom({ ...pin(10_000), server_id: 'b' })).toBe(true)
  for (const each of many(10_000)) expect(pins.get(each)).toEqual(each)
  pins.remove(pin(5))
  expect([pins.get(pin(5)), pins.hasRoom(pin(10_000))]).toEqual([undefined, true])
})

test('16 MiB of pinned definitions of a list have room', () => {
  const mebibyte = 'x'.repeat(1024 * 1024)
  const pins = new PinnedDefinitions(many(16, mebibyte))
  expect([
    pins.hasRoom(pin(16)),
    pins.hasRoom(pin(3, mebibyte)),
    pins.hasRoom(pin(3, `${mebibyte}x`)),
  ]).toEqual([false, true, false])
  pins.put(pin(3, 'short'))
  expect(pins.hasRoom(pin(16))).toBe(true)
})
