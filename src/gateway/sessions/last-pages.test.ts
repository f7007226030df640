import { expect, test } from 'vitest'
import { LastPages } from './sessions.ts'

const session = (id: string) => ({ session: { id }, keyId: 'key' })
const key = (keyId: string) => ({ session: undefined, keyId })

test('the last page belongs to the session or, for a client without one, to the key', () => {
  const pages = new LastPages()
  pages.record(session('a'), 'one')
  pages.record(session('a'), 'two')
  pages.record(key('key'), 'three')
  expect(pages.serverOf(session('a'))).toBe('two')
  expect(pages.serverOf(session('b'))).toBeUndefined()
  expect(pages.serverOf(key('key'))).toBe('three')
})

test('at the limit the client that has read no page for the longest time is dropped', () => {
  const pages = new LastPages()
  for (let n = 0; n < 2000; n += 1) pages.record(session(`s${n}`), 'one')
  pages.record(session('s0'), 'two')
  pages.record(session('new'), 'one')
  expect(['s0', 's1', 'new'].map((id) => pages.serverOf(session(id)))).toEqual(['two', undefined, 'one'])
})
