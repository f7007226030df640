import { expect, test } from 'vitest'
import { failureOf, pair } from '../../../test/support/pair.ts'
import { discover } from './handshake.ts'

const refusal = (id: number, supported: string[]) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32022, message: 'Unsupported protocol version', data: { supported } },
})

test('a server that refuses the version and names it is asked again, once', async () => {
  const { peer, say, sent } = pair()
  const found = discover(peer, '0', 5000)
  await say(refusal(1, ['2026-07-28']))
  await say({
    jsonrpc: '2.0',
    id: 2,
    result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  })
  expect(await found).toMatchObject({ era: 'modern', capabilities: { tools: {} } })
  const again = failureOf(discover(peer, '0', 5000))
  await say(refusal(3, ['2026-07-28']))
  await say(refusal(4, ['2026-07-28']))
  expect(await again).toBe('remote')
  expect(await sent()).toHaveLength(4)
})

test('a server that names only other versions is not', async () => {
  const { peer, say, sent } = pair()
  const failure = failureOf(discover(peer, '0', 5000))
  await say(refusal(1, ['2025-11-25']))
  expect(await failure).toBe('remote')
  expect(await sent()).toHaveLength(1)
})
