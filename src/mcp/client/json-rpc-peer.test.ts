import { expect, test } from 'vitest'
import { JsonRpcPeer } from './json-rpc-peer.ts'

const nested = (levels: number) => '['.repeat(levels) + ']'.repeat(levels)
const zeros = (count: number, end = '0') => `[${'0,'.repeat(count - 1)}${end}]`

test.each([
  ['an error of 100,000 levels', `"error":${nested(100_000)}`, 'is nested deeper than 1000 levels'],
  ['a result of 100,000 levels', `"result":${nested(100_000)}`, 'is nested deeper than 1000 levels'],
  ['an error of 20,000 values', `"error":${zeros(20_000)}`, 'has more than 10000 values'],
  [
    'a result of 20,000 values with NaN',
    `"result":${zeros(20_000, 'NaN')}`,
    'is not valid JSON at byte 40033 of 40037',
  ],
  ['a result of 20,000 values', `"result":${zeros(20_000)}`, 'was answered'],
])('%s gets the outcome that is true for it (docs/gateway.md, limits)', async (_, member, outcome) => {
  const peer = new JsonRpcPeer({
    sender: { send: () => {}, sendParts: () => {} },
    onNotification: () => {},
  })
  const answer = peer.requestRaw('tools/call', {}, { timeoutMs: null }).then(
    () => 'The response to tools/call was answered',
    ({ message }: Error) => message,
  )
  const bytes = Buffer.from(`{"jsonrpc":"2.0","id":1,${member}}`)
  peer.receive({ bytes, cut: 0, borrowed: false })
  expect(await answer).toBe(`The response to tools/call ${outcome}`)
})
