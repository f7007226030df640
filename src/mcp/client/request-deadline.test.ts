import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { stopwatch } from '../../../test/support/measuring.ts'
import type { CallFailure } from '../../protocol/call.ts'
import { JsonRpcPeer } from './json-rpc-peer.ts'

/** A peer whose server is simulated by the test. */
function simulated() {
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
  const outcomeOf = (answer: Promise<unknown>) =>
    answer.then(
      () => 'answered',
      (error: unknown) => (error as CallFailure).reason,
    )
  return { peer, sent, say, progress, outcomeOf }
}

test('the deadline is paused while the caller answers a request of the server, and continues afterwards', async () => {
  const { peer, say, outcomeOf } = simulated()
  const startedAt = performance.now()
  const onServerRequest = () => sleep(400).then(() => ({}))
  const answer = outcomeOf(peer.requestRaw('tools/call', {}, { timeoutMs: 200, onServerRequest }))
  await sleep(100)
  say({ id: 'q', method: 'elicitation/create' })
  expect(await answer).toBe('timeout')
  expect(performance.now() - startedAt).toBeGreaterThan(590)
})

test('requests of the server that are rejected at once do not extend the deadline', async () => {
  const { peer, say, outcomeOf } = simulated()
  const onServerRequest = () => Promise.reject(new Error('no'))
  const answer = outcomeOf(peer.requestRaw('tools/call', {}, { timeoutMs: 200, onServerRequest }))
  const requests = setInterval(() => say({ id: 'q', method: 'elicitation/create' }), 20)
  const spent = stopwatch()
  expect(await answer).toBe('timeout')
  clearInterval(requests)
  expect(spent()).toBeLessThan(2000)
})

test('progress restarts the deadline, but not endlessly', async () => {
  const { peer, progress, outcomeOf } = simulated()
  const [startedAt, spent] = [performance.now(), stopwatch()]
  const answer = outcomeOf(peer.request('tools/call', {}, { timeoutMs: 100, onProgress: () => {} }))
  const working = setInterval(() => progress(1), 10)
  expect(await answer).toBe('timeout')
  clearInterval(working)
  expect(performance.now() - startedAt).toBeGreaterThan(500)
  expect(spent()).toBeLessThan(5000)
})

test('a response that arrives while the caller still answers leaves no timer behind', async () => {
  const { peer, sent, say, outcomeOf } = simulated()
  let reply: (answer: object) => void = () => {}
  const onServerRequest = () => new Promise<object>((resolve) => (reply = resolve))
  const answer = outcomeOf(peer.requestRaw('tools/call', {}, { timeoutMs: 50, onServerRequest }))
  say({ id: 'q', method: 'elicitation/create' })
  await sleep(100)
  say({ id: 1, result: {} })
  expect(await answer).toBe('answered')
  reply({})
  await sleep(100)
  expect(sent.some(({ method }) => method === 'notifications/cancelled')).toBe(false)
})
