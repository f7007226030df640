import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { failureOf, pair, patient } from '../../../../test/support/connected-peer.ts'
import { startInGroup } from '../../../../test/support/marked-processes.ts'
import { BACKLOG_MAX_BYTES, StdioTransport } from './stdio-transport.ts'

const MIB = 1024 * 1024

/** A child process that writes and never reads. */
async function neverReading(script: string) {
  const child = await startInGroup({ path: process.execPath, args: ['-e', script] })
  const notified: string[] = []
  const { peer } = new StdioTransport({
    input: child.input,
    output: child.output,
    onStrayLine: () => {},
    onNotification: (method) => notified.push(method),
  })
  return { child, peer, notified }
}

test('requests to a server that does not read are refused beyond 16 MiB, and earlier ones end at their deadline', async () => {
  const { child, peer } = await neverReading('setTimeout(() => {}, 60_000)')
  const params = { text: 'x'.repeat(MIB) }
  const outcomes: Promise<string>[] = []
  for (let n = 0; n < 30; n += 1) outcomes.push(failureOf(peer.request('a', params, { timeoutMs: 300 })))
  await nextTurn() // lines are written in batches
  expect(child.input.writableLength).toBeGreaterThan(BACKLOG_MAX_BYTES)
  expect(child.input.writableLength).toBeLessThan(BACKLOG_MAX_BYTES + 2 * MIB)
  const failures = await Promise.all(outcomes)
  expect(new Set(failures)).toEqual(new Set(['timeout', 'busy']))
  expect(failures.indexOf('busy')).toBe(failures.lastIndexOf('timeout') + 1)
  await expect(peer.request('a', {}, patient)).rejects.toThrow('The server does not read its input')
  // The cancel notifications of the other requests are dropped, too.
  expect(child.input.writableLength).toBeLessThan(BACKLOG_MAX_BYTES + 2 * MIB)
})

test('messages of a server that does not read are still received, and the responses to it do not fill the memory', async () => {
  const script = `const line = JSON.stringify({ jsonrpc: '2.0', id: 'x'.repeat(1e6), method: 'ping' }) + '\\n'
    for (let n = 0; n < 30; n += 1) process.stdout.write(line)
    process.stdout.write(JSON.stringify({ jsonrpc: '2.0', method: 'done' }) + '\\n')
    setTimeout(() => {}, 60_000)`
  const { child, notified } = await neverReading(script)
  await expect.poll(() => notified).toEqual(['done'])
  expect(child.input.writableLength).toBeLessThan(BACKLOG_MAX_BYTES + 2 * MIB)
})

test.each([
  ['characters', 'x'.repeat(10 * MIB)],
  ['bytes', '€'.repeat(4 * MIB)],
])('a message that is too large in %s is refused before anything is written', async (_, text) => {
  const { peer, input, say } = pair()
  expect(await failureOf(peer.request('a', { text }, patient))).toBe('too_large')
  expect(input.writableLength + input.readableLength).toBe(0)
  const small = peer.request('b', { text: '€'.repeat(3 * MIB) }, patient)
  await say({ jsonrpc: '2.0', id: 1, result: 'fine' })
  expect(await small).toBe('fine')
})
