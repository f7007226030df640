import { expect, test } from 'vitest'
import { pair } from '../../../test/support/connected-peer.ts'
import { CallResult } from '../protocol/json-rpc-message.ts'
import { listTools } from './server-lists.ts'

/** A server that returns these results. */
const answering = (result: () => unknown) => ({
  requestRaw: async () => CallResult.of(result()),
})
const page = (id: number, result: unknown) => ({ jsonrpc: '2.0', id, result })

test('all pages of the tool list are read, also after an empty cursor, and a repeated cursor ends the list', async () => {
  const { peer, say, sent } = pair()
  const list = listTools(peer, 5000)
  await say(page(1, { tools: [{ name: 'a', extra: 1 }, { broken: true }, 7], nextCursor: '' }))
  await say(page(2, { tools: [{ name: 'b' }], nextCursor: 'x' }))
  await say(page(3, { tools: [{ name: 'c' }], nextCursor: 'x' }))
  expect(await list).toEqual({
    tools: [{ name: 'a', extra: 1 }, { name: 'b' }, { name: 'c' }],
    truncated: true,
    duplicates: 0,
  })
  expect((await sent()).map(({ params }) => params)).toEqual([{}, { cursor: '' }, { cursor: 'x' }])
})

test('of tools with the same name the first is kept, and the number of others is reported', async () => {
  const { peer, say } = pair()
  const list = listTools(peer, 5000)
  const twice = [{ name: 'a', nth: 1 }, { name: 'A' }, { name: 'a', nth: 2 }]
  await say(page(1, { tools: twice, nextCursor: 'n' }))
  await say(page(2, { tools: [{ name: 'a', nth: 3 }, { name: '__proto__' }] }))
  expect(await list).toEqual({
    tools: [{ name: 'a', nth: 1 }, { name: 'A' }, { name: '__proto__' }],
    truncated: false,
    duplicates: 2,
  })
})

test('a page with 300,000 tools is cut to 5,000 tools', async () => {
  const tools = Array.from({ length: 300_000 }, (_, n) => ({ name: `t${n}` }))
  const list = await listTools(
    answering(() => ({ tools })),
    5000,
  )
  expect(list).toMatchObject({ truncated: true, duplicates: 0 })
  expect(list.tools).toHaveLength(5000)
})

test('an endless list is cut after 100 pages', async () => {
  let pages = 0
  const endless = answering(() => ({ tools: [{ name: `t${++pages}` }], nextCursor: `${pages}` }))
  expect(await listTools(endless, 5000)).toMatchObject({ truncated: true })
  expect(pages).toBe(100)
})

test.each([[null], ['text'], [{}], [{ tools: {} }]])(
  'the result %j is an empty tool list',
  async (result) => {
    const list = await listTools(
      answering(() => result),
      5000,
    )
    expect(list).toEqual({ tools: [], truncated: false, duplicates: 0 })
  },
)
