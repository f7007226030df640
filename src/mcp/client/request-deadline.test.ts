import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { CallFailure } from '../protocol/call-failure.ts'
import { JsonRpcPeer } from './json-rpc-peer.ts'

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
})
afterEach(() => {
  vi.useRealTimers()
})

const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

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
  /** Returns a function that gives the outcome so far. */
  const outcomeOf = (answer: Promise<unknown>) => {
    let outcome = 'pending'
    void answer.then(
      () => (outcome = 'answered'),
      (error: unknown) => (outcome = (error as CallFailure).reason),
    )
    return () => outcome
  }
  return { peer, sent, say, progress, outcomeOf }
}

test('the deadline is paused while the caller answers a request of the server, and continues afterwards', async () => {
  const { peer, say, outcomeOf } = simulated()
  const onServerRequest = () => new Promise<object>((resolve) => setTimeout(() => resolve({}), 400))
  const outcome = outcomeOf(peer.requestRaw('tools/call', {}, { timeoutMs: 200, onServerRequest }))
  await pass(100)
  say({ id: 'q', method: 'elicitation/create' })
  await pass(490)
  expect(outcome()).toBe('pending')
  await pass(20)
  expect(outcome()).toBe('timeout')
})

test('requests of the server that are rejected at once do not extend the deadline', async () => {
  const { peer, say, outcomeOf } = simulated()
  const onServerRequest = () => Promise.reject(new Error('no'))
  const outcome = outcomeOf(peer.requestRaw('tools/call', {}, { timeoutMs: 200, onServerRequest }))
  const requests = setInterval(() => say({ id: 'q', method: 'elicitation/create' }), 20)
  await pass(210)
  clearInterval(requests)
  expect(outcome()).toBe('timeout')
})

test('progress restarts the deadline, but not endlessly', async () => {
  const { peer, progress, outcomeOf } = simulated()
  const outcome = outcomeOf(peer.request('tools/call', {}, { timeoutMs: 100, onProgress: () => {} }))
  const working = setInterval(() => progress(1), 10)
  await pass(800)
  expect(outcome()).toBe('pending')
  await pass(200)
  clearInterval(working)
  expect(outcome()).toBe('timeout')
})

test('a response that arrives while the caller still answers leaves no timer behind', async () => {
  // Without a turn of the event loop, so that every timer which is counted is one of this peer.
  vi.clearAllTimers()
  const passAtOnce = async (ms: number) => {
    vi.advanceTimersByTime(ms)
    for (let turn = 0; turn < 20; turn++) await null
  }
  const { peer, sent, say, outcomeOf } = simulated()
  let reply: (answer: object) => void = () => {}
  const onServerRequest = () => new Promise<object>((resolve) => (reply = resolve))
  const outcome = outcomeOf(peer.requestRaw('tools/call', {}, { timeoutMs: 50, onServerRequest }))
  expect(vi.getTimerCount()).toBe(1)
  say({ id: 'q', method: 'elicitation/create' })
  await passAtOnce(100)
  say({ id: 1, result: {} })
  await passAtOnce(0)
  expect(outcome()).toBe('answered')
  reply({})
  await passAtOnce(100)
  expect(vi.getTimerCount()).toBe(0)
  expect(sent.some(({ method }) => method === 'notifications/cancelled')).toBe(false)
})
