import { PassThrough } from 'node:stream'
import { setImmediate as tick } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { Child } from '../supervisor/child.ts'
import { sweep } from '../supervisor/signals.ts'
import { greet, listTools, NotMcpError } from './handshake.ts'
import { Peer, type RequestError } from './peer.ts'

/** A peer whose other end is the test. */
function pair() {
  const [toServer, fromServer] = [new PassThrough(), new PassThrough()]
  const noise: string[] = []
  const notified: unknown[] = []
  const peer = new Peer({
    input: toServer,
    output: fromServer,
    onNoise: (bytes) => noise.push(bytes.toString('utf8')),
    onNotification: (method, params) => notified.push([method, params]),
  })
  const sent = () =>
    String(toServer.read() ?? '')
      .trim()
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  const say = async (...lines: (string | object)[]) => {
    for (const line of lines) fromServer.write(`${typeof line === 'string' ? line : JSON.stringify(line)}\n`)
    await tick()
  }
  return { peer, sent, say, noise, notified, fromServer }
}

const patient = { timeoutMs: 5000 }
const failureOf = (promise: Promise<unknown>) =>
  promise.then(
    () => 'none',
    (error) => (error as RequestError).failure,
  )

describe('a request', () => {
  test('gets its own result, unchanged, in whatever order answers come', async () => {
    const { peer, sent, say } = pair()
    const [a, b] = [peer.request('a', { x: 1 }, patient), peer.request('b', undefined, patient)]
    expect(sent()).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'a', params: { x: 1 } },
      { jsonrpc: '2.0', id: 2, method: 'b' },
    ])
    const odd = { content: [], 'x-unknown': { deep: [null, 0, ''] } }
    await say({ jsonrpc: '2.0', id: 2, result: 'second' }, { result: odd, jsonrpc: '2.0', id: 1 })
    expect(await Promise.all([a, b])).toEqual([odd, 'second'])
  })

  test('that is answered twice, late or never asked for harms nobody', async () => {
    const { peer, say } = pair()
    const asked = peer.request('a', {}, patient)
    const answer = { jsonrpc: '2.0', id: 1, result: 1 }
    await say(answer, { ...answer, result: 2 }, { ...answer, id: 77 }, { ...answer, id: 'x' })
    expect(await asked).toBe(1)
    expect(peer.strayAnswers).toBe(3)
  })

  test('fails with what the other side said, when it said no', async () => {
    const { peer, say } = pair()
    const no = { code: -32602, message: 'no such tool', data: { a: 1 } }
    const refused = expect(peer.request('a', {}, patient)).rejects.toMatchObject({
      failure: 'remote',
      remote: no,
    })
    await say({ jsonrpc: '2.0', id: 1, error: no })
    await refused
  })

  test('ends at its deadline and at the wish of who asked, and the other side is told', async () => {
    const { peer, sent } = pair()
    expect(await failureOf(peer.request('slow', {}, { timeoutMs: 20 }))).toBe('timeout')
    const abort = new AbortController()
    const cancelled = failureOf(peer.request('slow', {}, { ...patient, signal: abort.signal }))
    abort.abort()
    expect(await cancelled).toBe('cancelled')
    expect(sent().filter(({ method }) => method === 'notifications/cancelled')).toMatchObject([
      { params: { requestId: 1 } },
      { params: { requestId: 2 } },
    ])
    expect(await failureOf(peer.request('slow', {}, { ...patient, signal: abort.signal }))).toBe('cancelled')
  })

  test('fails at once when the other side is gone', async () => {
    const { peer, fromServer } = pair()
    const asked = failureOf(peer.request('a', {}, patient))
    fromServer.end()
    expect(await asked).toBe('closed')
    expect(await failureOf(peer.request('b', {}, patient))).toBe('closed')
  })

  test('fails alone when its answer is larger than 10 MiB, and the next one is read', async () => {
    const { peer, fromServer, say } = pair()
    const [large, small] = [failureOf(peer.request('a', {}, patient)), peer.request('b', {}, patient)]
    const piece = 'x'.repeat(1024 * 1024)
    fromServer.write('{"jsonrpc":"2.0","id":1,"result":"')
    for (let n = 0; n < 12; n += 1) fromServer.write(piece)
    await say('"}', { jsonrpc: '2.0', id: 2, result: 'fine' })
    expect(await large).toBe('too_large')
    expect(await small).toBe('fine')
  })
})

test('what is no message is noise, and messages around it are heard', async () => {
  const { say, noise, notified } = pair()
  await say(
    'Server listening…',
    '{"half": ',
    '[1]',
    '{"level":"info"}',
    { jsonrpc: '2.0', method: 'notifications/x', params: 1 },
    '',
  )
  expect(noise).toEqual(['Server listening…', '{"half": ', '[1]', '{"level":"info"}'])
  expect(notified).toEqual([['notifications/x', 1]])
})

test('requests of the server are answered, also with an id of 0', async () => {
  const { sent, say } = pair()
  await say(
    { jsonrpc: '2.0', id: 0, method: 'ping' },
    { jsonrpc: '2.0', id: 'a', method: 'roots/list' },
    { jsonrpc: '2.0', id: 2, method: 'sampling/createMessage' },
  )
  expect(sent()).toEqual([
    { jsonrpc: '2.0', id: 0, result: {} },
    { jsonrpc: '2.0', id: 'a', result: { roots: [] } },
    { jsonrpc: '2.0', id: 2, error: { code: -32601, message: 'sampling/createMessage is not supported' } },
  ])
})

describe('the handshake', () => {
  test.each([
    [{}],
    [{ protocolVersion: 1 }],
    ['hello'],
    [null],
    [{ protocolVersion: '1999-01-01', capabilities: {} }],
  ])('with the answer %j is refused for good', async (result) => {
    const { peer, say } = pair()
    const refused = expect(greet(peer, '0', 5000)).rejects.toThrow(NotMcpError)
    await say({ jsonrpc: '2.0', id: 1, result })
    await refused
  })

  test('keeps what the server said of itself, then says that it is done', async () => {
    const { peer, say, sent } = pair()
    const greeting = greet(peer, '1.2.3', 5000)
    expect(sent()[0].params).toMatchObject({
      protocolVersion: '2025-11-25',
      clientInfo: { name: 'toolroom', version: '1.2.3' },
    })
    await say({
      jsonrpc: '2.0',
      id: 1,
      result: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'x' } },
    })
    expect(await greeting).toEqual({
      protocol_version: '2024-11-05',
      server_info: { name: 'x' },
      capabilities: { tools: {} },
      instructions: null,
    })
    expect(sent()).toEqual([{ jsonrpc: '2.0', method: 'notifications/initialized' }])
  })
})

describe('the list of tools', () => {
  test('is drained over its pages, an empty cursor included, and a circle is cut', async () => {
    const { peer, say } = pair()
    const list = listTools(peer, 5000)
    await say({
      jsonrpc: '2.0',
      id: 1,
      result: { tools: [{ name: 'a', extra: 1 }, { broken: true }, 7], nextCursor: '' },
    })
    await say({ jsonrpc: '2.0', id: 2, result: { tools: [{ name: 'b' }], nextCursor: 'x' } })
    await say({ jsonrpc: '2.0', id: 3, result: { tools: [{ name: 'c' }], nextCursor: 'x' } })
    expect(await list).toEqual({
      tools: [{ name: 'a', extra: 1 }, { name: 'b' }, { name: 'c' }],
      truncated: true,
    })
  })

  test('of a real child is there after the handshake', async () => {
    const mark = `TOOLROOM_CHILD=test-peer-${process.pid}`
    onTestFinished(() => void sweep(mark))
    const script = `require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method, params } = JSON.parse(line)
      const results = { initialize: { protocolVersion: params?.protocolVersion, capabilities: {}, serverInfo: {} }, 'tools/list': { tools: [{ name: 'echo' }] } }
      if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }))
    })`
    const child = await Child.start({
      path: process.execPath,
      args: ['-e', script],
      cwd: undefined,
      env: {},
      mark,
    })
    const peer = new Peer({
      input: child.input,
      output: child.output,
      onNoise: () => {},
      onNotification: () => {},
    })
    await greet(peer, '0', 5000)
    expect(await listTools(peer, 5000)).toEqual({ tools: [{ name: 'echo' }], truncated: false })
    const waiting = failureOf(peer.request('never', {}, patient).then(() => peer.request('x', {}, patient)))
    child.closeInput()
    await child.ended
    expect(['closed', 'none']).toContain(await waiting)
  })
})
