import { expect, test } from 'vitest'
import { type Pin, PinnedDefinitions } from './pin-map.ts'

const pin = (n: number, definition = '{}'): Pin => ({
  server_id: 'a',
  tool: `tool_${n}`,
  hash: String(n),
  definition,
  approved_at: n,
  seen_hash: null,
  seen_at: null,
})

test('a server keeps its newest 10,000 pins, and those of its current tools', () => {
  const pins = new PinnedDefinitions(Array.from({ length: 12_000 }, (_, n) => pin(n)))
  const removed = pins.removeExcess('a', [{ name: 'tool_0' }])
  expect(removed).toHaveLength(2000)
  expect(pins.get({ server_id: 'a', tool: 'tool_0' })).toBeDefined()
  expect(pins.get({ server_id: 'a', tool: 'tool_1' })).toBeUndefined()
  expect(pins.get({ server_id: 'a', tool: 'tool_2000' })).toBeUndefined()
  expect(pins.get({ server_id: 'a', tool: 'tool_2001' })).toBeDefined()
  expect(pins.removeExcess('a', [{ name: 'tool_0' }])).toEqual([])
})

test('a server keeps at most 16 MiB of pinned definitions', () => {
  const large = 'x'.repeat(1024 * 1024)
  const pins = new PinnedDefinitions(Array.from({ length: 20 }, (_, n) => pin(n, large)))
  expect(pins.removeExcess('a', [{ name: 'tool_19' }]).map(({ tool }) => tool)).toEqual([
    'tool_0',
    'tool_1',
    'tool_2',
    'tool_3',
  ])
})
