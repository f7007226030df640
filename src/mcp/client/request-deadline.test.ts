import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { CallFailure } from '../../protocol/call.ts'
import { JsonRpcPeer } from './json-rpc-peer.ts'

/** A server of which only the words are there. */
function speaking() {
  const sent: { id?: number; method?: string }[] = []
  const peer = new JsonRpcPeer({
    sender: { send: (text) => void sent.push(JSON.parse(text)), sendParts: () => {} },
    onNotification: () => {},
  })
  const say = (message: object) =>
    peer.receive({
      bytes: Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })),
      cut: 0,
      borrowed: false,
    })
  const progress = (progressToken: number) =>
    say({ method: 'notifications/progress', params: { progressToken } })
  const failed = (answer: Promise<unknown>) =>
    answer.then(
      () => 'answered',
      (error: unknown) => (error as CallFailure).reason,
    )
  return { peer, sent, say, progress, failed }
}

test('while the caller is asked the time stands still, and afterwards it runs on', async () => {
  const { peer, say, failed } = speaking()
  const startedAt = performance.now()
  const onServerRequest = () => sleep(400).then(() => ({}))
  const answer = failed(peer.request('tools/call', {}, { timeoutMs: 200, onServerRequest }))
  await sleep(100)
  say({ id: 'q', method: 'elicitation/create' })
  expect(await answer).toBe('timeout')
  expect(performance.now() - startedAt).toBeGreaterThan(590)
})

test('a server that asks in vain wins no time by it', async () => {
  const { peer, say, failed } = speaking()
  const onServerRequest = () => Promise.reject(new Error('no'))
  const answer = failed(peer.request('tools/call', {}, { timeoutMs: 200, onServerRequest }))
  const asking = setInterval(() => say({ id: 'q', method: 'elicitation/create' }), 20)
  const startedAt = performance.now()
  expect(await answer).toBe('timeout')
  clearInterval(asking)
  expect(performance.now() - startedAt).toBeLessThan(2000)
})

test('progress begins the time anew, but not for ever', async () => {
  const { peer, progress, failed } = speaking()
  const startedAt = performance.now()
  const answer = failed(peer.request('tools/call', {}, { timeoutMs: 100, onProgress: () => {} }))
  const working = setInterval(() => progress(1), 10)
  expect(await answer).toBe('timeout')
  clearInterval(working)
  const tookMs = performance.now() - startedAt
  expect(tookMs).toBeGreaterThan(500)
  expect(tookMs).toBeLessThan(5000)
})

test('an answer during a question leaves no clock behind', async () => {
  const { peer, sent, say, failed } = speaking()
  let reply: (answer: object) => void = () => {}
  const onServerRequest = () => new Promise<object>((resolve) => (reply = resolve))
  const answer = failed(peer.request('tools/call', {}, { timeoutMs: 50, onServerRequest }))
  say({ id: 'q', method: 'elicitation/create' })
  await sleep(100)
  say({ id: 1, result: {} })
  expect(await answer).toBe('answered')
  reply({})
  await sleep(100)
  expect(sent.some(({ method }) => method === 'notifications/cancelled')).toBe(false)
})
