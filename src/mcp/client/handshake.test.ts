import { expect, test } from 'vitest'
import { failureOf, pair } from '../../../test/support/connected-peer.ts'
import { discover } from './handshake.ts'

const rejection = (id: number, supported: string[]) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -32022, message: 'Unsupported protocol version', data: { supported } },
})

test('server/discover is repeated once when the server rejects the version that it lists as supported', async () => {
  const { peer, say, sent } = pair()
  const found = discover(peer, '0', 5000)
  await say(rejection(1, ['2026-07-28']))
  await say({
    jsonrpc: '2.0',
    id: 2,
    result: { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
  })
  expect(await found).toMatchObject({ era: 'modern', capabilities: { tools: {} } })
  const repeated = failureOf(discover(peer, '0', 5000))
  await say(rejection(3, ['2026-07-28']))
  await say(rejection(4, ['2026-07-28']))
  expect(await repeated).toBe('remote')
  expect(await sent()).toHaveLength(4)
})

test('server/discover is not repeated when the server lists only other versions', async () => {
  const { peer, say, sent } = pair()
  const failure = failureOf(discover(peer, '0', 5000))
  await say(rejection(1, ['2025-11-25']))
  expect(await failure).toBe('remote')
  expect(await sent()).toHaveLength(1)
})
