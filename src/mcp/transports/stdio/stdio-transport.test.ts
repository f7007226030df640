import { describe, expect, test } from 'vitest'
import { failureOf, pair, patient } from '../../../../test/support/connected-peer.ts'
import { NO_CLIENT } from '../../client/server-requests.ts'

describe('request', () => {
  test('each request gets its own result, unchanged, in whatever order responses arrive', async () => {
    const { peer, sent, say } = pair()
    const [a, b] = [peer.request('a', { x: 1 }, patient), peer.request('b', undefined, patient)]
    expect(await sent()).toEqual([
      { jsonrpc: '2.0', id: 1, method: 'a', params: { x: 1 } },
      { jsonrpc: '2.0', id: 2, method: 'b' },
    ])
    const odd = { content: [], 'x-unknown': { deep: [null, 0, ''] } }
    await say({ jsonrpc: '2.0', id: 2, result: 'second' }, { result: odd, jsonrpc: '2.0', id: 1 })
    expect(await Promise.all([a, b])).toEqual([odd, 'second'])
  })

  test('duplicate, late and unrequested responses are ignored, and are not logged as stray output', async () => {
    const { peer, say, noise } = pair()
    const pending = peer.request('a', {}, patient)
    const answer = { jsonrpc: '2.0', id: 1, result: 1 }
    await say({ ...answer, id: '1', result: 'nearly' }, { ...answer, id: null }, { ...answer, id: 77 })
    await say(answer, { ...answer, result: 2 })
    expect(await pending).toBe(1)
    expect(await failureOf(peer.request('late', {}, { timeoutMs: 10 }))).toBe('timeout')
    const next = peer.request('next', {}, patient)
    await say({ ...answer, id: 2, result: 'late' }, { ...answer, id: 3, result: 'next' })
    expect(await next).toBe('next')
    expect(noise).toEqual([])
  })

  test('a request fails with the error of the server', async () => {
    const { peer, say } = pair()
    const remote = { code: -32602, message: 'no such tool', data: { a: 1 } }
    const rejected = expect(peer.request('a', {}, patient)).rejects.toMatchObject({
      reason: 'remote',
      remote,
    })
    await say({ jsonrpc: '2.0', id: 1, error: remote })
    await rejected
  })

  test.each([
    [{ error: 'a text' }, { code: -32603, message: 'a text' }],
    [{ error: { message: 7 } }, { code: -32603, message: 'The response has an error without a message' }],
    [{ error: { code: '5', message: 'no', data: 0 } }, { code: -32603, message: 'no', data: 0 }],
    [{ error: [] }, { code: -32603, message: 'The response has an error without a message' }],
    [{ error: null }, { code: -32603, message: 'The response has neither a result nor an error' }],
    [{}, { code: -32603, message: 'The response has neither a result nor an error' }],
    [
      { result: 1, error: { code: 1, message: 'both' } },
      { code: 1, message: 'both' },
    ],
  ])('the response %j fails the request with a code and a message', async (answer, remote) => {
    const { peer, say } = pair()
    const rejected = expect(peer.request('a', {}, patient)).rejects.toMatchObject({
      reason: 'remote',
      remote,
    })
    await say({ jsonrpc: '2.0', id: 1, ...answer })
    await rejected
  })

  test('a result may be null, and a null error beside a result is ignored', async () => {
    const { peer, say } = pair()
    const pending = [peer.request('a', {}, patient), peer.request('b', {}, patient)]
    await say({ jsonrpc: '2.0', id: 1, result: null }, { jsonrpc: '2.0', id: 2, result: 2, error: null })
    expect(await Promise.all(pending)).toEqual([null, 2])
  })

  test('initialize is not cancelled when it times out, as the specification requires', async () => {
    const { peer, sent } = pair()
    expect(await failureOf(peer.request('initialize', {}, { timeoutMs: 10 }))).toBe('timeout')
    expect((await sent()).map(({ method }) => method)).toEqual(['initialize'])
  })

  test('a request without a deadline, or with one beyond the longest timer, does not time out early', async () => {
    const { peer, say } = pair()
    const pending = [peer.request('a', {}, { timeoutMs: null }), peer.request('b', {}, { timeoutMs: 1e12 })]
    await say({ jsonrpc: '2.0', id: 1, result: 'a' }, { jsonrpc: '2.0', id: 2, result: 'b' })
    expect(await Promise.all(pending)).toEqual(['a', 'b'])
  })

  test('a request that times out or is aborted is cancelled at the server', async () => {
    const { peer, sent } = pair()
    expect(await failureOf(peer.request('slow', {}, { timeoutMs: 20 }))).toBe('timeout')
    const abort = new AbortController()
    const cancelled = failureOf(peer.request('slow', {}, { ...patient, signal: abort.signal }))
    abort.abort()
    expect(await cancelled).toBe('cancelled')
    expect((await sent()).filter(({ method }) => method === 'notifications/cancelled')).toMatchObject([
      { params: { requestId: 1 } },
      { params: { requestId: 2 } },
    ])
    expect(await failureOf(peer.request('slow', {}, { ...patient, signal: abort.signal }))).toBe('cancelled')
  })

  test('requests fail at once when the output of the server has ended', async () => {
    const { peer, output } = pair()
    const pending = failureOf(peer.request('a', {}, patient))
    output.end()
    expect(await pending).toBe('closed')
    expect(await failureOf(peer.request('b', {}, patient))).toBe('closed')
  })

  test('requests fail at once when the output is destroyed or the input is closed', async () => {
    const [one, other] = [pair(), pair()]
    const pending = failureOf(one.peer.request('a', {}, patient))
    one.output.destroy()
    expect(await pending).toBe('closed')
    other.input.destroy(new Error('EPIPE'))
    expect(await failureOf(other.peer.request('a', {}, patient))).toBe('closed')
  })

  test('a response larger than 10 MiB fails only its own request', async () => {
    const { peer, output, say } = pair()
    const [large, small] = [failureOf(peer.request('a', {}, patient)), peer.request('b', {}, patient)]
    const piece = 'x'.repeat(1024 * 1024)
    output.write('{"jsonrpc":"2.0","id":1,"result":"')
    for (let n = 0; n < 12; n += 1) output.write(piece)
    await say('"}', { jsonrpc: '2.0', id: 2, result: 'fine' })
    expect(await large).toBe('too_large')
    expect(await small).toBe('fine')
  })

  test('an id inside the result of a large response does not fail the request with that id', async () => {
    const { peer, output, say, noise } = pair()
    const pending = peer.request('a', {}, patient)
    output.write('{"jsonrpc":"2.0","result":{"id":1,"text":"')
    output.write(Buffer.alloc(11 * 1024 * 1024, 'x'))
    await say('"},"id":77}', { jsonrpc: '2.0', id: 1, result: 'fine' })
    expect(await pending).toBe('fine')
    expect(noise).toHaveLength(1)
  })
})

describe('raw result', () => {
  const odd =
    '{ "big":12345678901234567890, "one":1.0,\t"e":1e2,"twice":1,"twice":2,"t":"\\u00e9 \\/ 🎈","content":[ ] }'

  test.each([
    [`{"jsonrpc":"2.0","id":1,"result":${odd}}`],
    [`{"result":${odd},"jsonrpc":"2.0","id":1}`],
    [`{"jsonrpc":"2.0","id":1,"result": ${odd} }`],
    [`{"jsonrpc":"2.0","id":1,"result":${odd},"extra":{"result":0}}`],
    [`{"jsonrpc":"2.0","id":1,"result":0,"result":${odd}}`],
    [`{"result":0,"result":${odd},"jsonrpc":"2.0","id":1}`],
    [`  { "id" : 1.0 , "res\\u0075lt" : ${odd} , "jsonrpc" : "2.0" }  `],
  ])('the bytes of the result are unchanged in %s', async (line) => {
    const { peer, say } = pair()
    const pending = peer.requestRaw('a', {}, patient)
    await say(line)
    const { value, bytes } = await pending
    expect(bytes.toString()).toBe(odd)
    expect(value).toEqual(JSON.parse(odd))
  })

  test('a raw result does not change when its chunk is overwritten', async () => {
    const { peer, output } = pair()
    const pending = [peer.requestRaw('a', {}, patient), peer.requestRaw('b', {}, patient)]
    const chunk = Buffer.from('{"jsonrpc":"2.0","id":1,"result":"one"}\n{"jsonrpc":"2.0","id":2,"re')
    const rest = Buffer.from('sult":"two"}\n')
    output.write(chunk)
    output.write(rest)
    const results = await Promise.all(pending)
    chunk.fill(0)
    rest.fill(0)
    expect(results.map(({ bytes }) => bytes.toString())).toEqual(['"one"', '"two"'])
  })

  test('a raw request fails when the response is an error', async () => {
    const { peer, say } = pair()
    const pending = failureOf(peer.requestRaw('a', {}, patient))
    await say('{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"no"}}')
    expect(await pending).toBe('remote')
  })
})

test('lines that are not messages are reported as stray output, and messages between them are received', async () => {
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

test('requests of the server are answered, even with the id 0', async () => {
  const { sent, say } = pair()
  await say(
    { jsonrpc: '2.0', id: 0, method: 'ping' },
    { jsonrpc: '2.0', id: 'a', method: 'roots/list' },
    { jsonrpc: '2.0', id: 2, method: 'sampling/createMessage' },
  )
  expect(await sent()).toEqual([
    { jsonrpc: '2.0', id: 0, result: {} },
    { jsonrpc: '2.0', id: 'a', error: { code: -32603, message: NO_CLIENT } },
    { jsonrpc: '2.0', id: 2, error: { code: -32603, message: NO_CLIENT } },
  ])
})
