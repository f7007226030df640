import { expect, test } from 'vitest'
import type { CallOptions } from '../protocol/call-options.ts'
import { JsonRpcPeer } from './json-rpc-peer.ts'
import { listTools } from './server-lists.ts'

const owner = { id: '', agentType: 'cursor', sessionId: null, notify: () => {} }
const of = (id: string): CallOptions => ({ client: { id, agentType: 'cursor', owner } })

/** The client that a log message concerns while Toolroom reads the list of tools and the given requests are pending. */
function concerned(...pending: CallOptions[]): string | null | undefined {
  let client: string | null | undefined = 'not notified'
  const peer = new JsonRpcPeer({
    sender: { send: () => {}, sendParts: () => {} },
    onNotification: (_, __, clientId) => {
      client = clientId
    },
  })
  void listTools(peer, 60_000).catch(() => {})
  for (const options of pending)
    void peer.requestRaw('tools/call', {}, { ...options, timeoutMs: null }).catch(() => {})
  const bytes = Buffer.from('{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
  peer.receive({ bytes, cut: 0, borrowed: false })
  peer.close('the test has ended')
  return client
}

test.each<[string, string | null | undefined, CallOptions[]]>([
  ['no request is pending', undefined, []],
  ['requests of one session are pending', 'alice', [of('alice'), of('alice')]],
  ['a request of Toolroom is pending, too', 'alice', [of('alice'), { isInternal: true }]],
  ['requests of two sessions are pending', null, [of('alice'), of('bob')]],
  ['a request of the API is pending', null, [{}]],
  ['a request of the API is pending, too', null, [of('alice'), {}]],
])('while %s, a log message of a server concerns %s', (_, expected, pending) => {
  expect(concerned(...pending)).toBe(expected)
})
