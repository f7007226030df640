import { expect, test } from 'vitest'
import { type Pin, PinBook } from './pinned-definitions.ts'

const pin = (n: number, definition = '{}'): Pin => ({
  server_id: 'a',
  tool: `tool_${n}`,
  hash: String(n),
  definition,
  approved_at: n,
  seen_hash: null,
  seen_at: null,
})

test('a server that makes up names for ever is remembered by the newest ten thousand, and by what it offers', () => {
  const book = new PinBook(Array.from({ length: 12_000 }, (_, n) => pin(n)))
  const shed = book.shed('a', [{ name: 'tool_0' }])
  expect(shed).toHaveLength(2000)
  expect(book.get({ server_id: 'a', tool: 'tool_0' })).toBeDefined()
  expect(book.get({ server_id: 'a', tool: 'tool_1' })).toBeUndefined()
  expect(book.get({ server_id: 'a', tool: 'tool_2000' })).toBeUndefined()
  expect(book.get({ server_id: 'a', tool: 'tool_2001' })).toBeDefined()
  expect(book.shed('a', [{ name: 'tool_0' }])).toEqual([])
})

test('and by no more than sixteen megabytes', () => {
  const large = 'x'.repeat(1024 * 1024)
  const book = new PinBook(Array.from({ length: 20 }, (_, n) => pin(n, large)))
  expect(book.shed('a', [{ name: 'tool_19' }]).map(({ tool }) => tool)).toEqual([
    'tool_0',
    'tool_1',
    'tool_2',
    'tool_3',
  ])
})
