import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openFaults } from '../../../../test/fixtures/http/faults.ts'
import { openHttp } from '../../../../test/fixtures/http/sites.ts'
import { type Asked, answerTo, bodyOf } from '../../../../test/fixtures/http/tiny.ts'
import { failureOf } from '../../../../test/support/connected-peer.ts'
import { connectedTo, remoteTo, textOf } from '../../../../test/support/remote.ts'

const patient = { timeoutMs: 60_000 }
const EVENT_STREAM = { 'content-type': 'text/event-stream' }
const JSON_TYPE = { 'content-type': 'application/json' }

type Handler = (message: Asked, response: ServerResponse, request: IncomingMessage) => boolean | undefined

/** A legacy server. `handle` returns true when it has sent the response. `received` has every request. */
async function openServer(handle: Handler, headers: Record<string, string> = {}) {
  const received: Asked[] = []
  const site = await openHttp(async (request, response) => {
    const message = request.method === 'POST' ? await bodyOf(request) : { method: `${request.method}` }
    received.push(message)
    if (handle(message, response, request)) return
    if (request.method !== 'POST') return void response.writeHead(405).end()
    if (message.id === undefined || message.method === undefined) return void response.writeHead(202).end()
    response.writeHead(200, { ...JSON_TYPE, ...headers }).end(answerTo(message))
  })
  onTestFinished(() => site.close())
  return { ...site, url: `${site.origin}/mcp`, requests: received }
}

describe('response', () => {
  test('a response is received after other messages, byte by byte, and requests of the server are answered meanwhile', async () => {
    const faults = await openFaults()
    onTestFinished(() => void faults.close())
    const { connection, names } = await connectedTo(faults.urls.chatty_sse)
    expect(names()).toEqual(['echo'])
    expect(textOf(await connection.call('echo', { text: 'grüße 🎈' }, patient))).toBe('grüße 🎈')
    expect(connection.transport).toBe('streamable_http')
  })

  test('requests of the server within a response stream are answered', async () => {
    const { url, requests } = await openServer((message, response) => {
      if (message.method !== 'tools/call') return false
      const methods = ['ping', 'roots/list', 'sampling/createMessage']
      const events = methods.map(
        (method, id) => `data: {"jsonrpc":"2.0","id":${id},"method":"${method}"}\n\n`,
      )
      response.writeHead(200, EVENT_STREAM).end(`${events.join('')}data: ${answerTo(message)}\n\n`)
      return true
    })
    const { connection } = await connectedTo(url)
    await connection.call('echo', { text: 'a' }, patient)
    const answers = () =>
      requests.filter(({ method }) => method === undefined).toSorted((a, b) => Number(a.id) - Number(b.id))
    await expect.poll(() => answers().length).toBe(3)
    expect(answers()).toEqual([
      { jsonrpc: '2.0', id: 0, result: {} },
      { jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'The client does not support roots/list' } },
      {
        jsonrpc: '2.0',
        id: 2,
        error: { code: -32601, message: 'The client does not support sampling/createMessage' },
      },
    ])
  })

  test('a response stream that stays open after the response is closed', async () => {
    const { url, open } = await openServer((message, response) => {
      if (message.method !== 'tools/call') return false
      response.writeHead(200, EVENT_STREAM).write(`data: ${answerTo(message)}\n\n`)
      return true
    })
    const { connection } = await connectedTo(url)
    expect(textOf(await connection.call('echo', { text: 'a' }, patient))).toBe('a')
    await expect.poll(open).toBeLessThan(2)
  })

  test('an interrupted response stream is resumed from its last event', async () => {
    let first: Asked | undefined
    const { url, requests } = await openServer((message, response, request) => {
      if (message.method === 'tools/call') {
        first = message
        response.writeHead(200, EVENT_STREAM).end('id: s1\nretry: 20\ndata:\n\n')
        return true
      }
      const from = request.headers['last-event-id']
      if (message.method !== 'GET' || from === undefined || !first) return false
      const events =
        from === 's1'
          ? 'id: s2\nretry: 20\ndata: {"jsonrpc":"2.0","method":"x"}\n\n'
          : `data: ${answerTo(first)}\n\n`
      response.writeHead(200, EVENT_STREAM).end(events)
      return true
    })
    const { connection } = await connectedTo(url)
    expect(textOf(await connection.call('echo', { text: 'late' }, patient))).toBe('late')
    expect(requests.filter(({ method }) => method === 'GET')).toHaveLength(2)
  })

  test.each([
    ['another id', 'protocol_error', (message: Asked) => answerTo({ ...message, id: 999 })],
    [
      'a string as id',
      'protocol_error',
      (message: Asked) => answerTo(message).replace(`"id":${message.id}`, `"id":"${message.id}"`),
    ],
    ['a batch', 'not_mcp', (message: Asked) => `[${answerTo(message)}]`],
    ['a notification', 'protocol_error', () => '{"jsonrpc":"2.0","method":"notifications/message"}'],
    ['half of the message', 'not_mcp', (message: Asked) => answerTo(message).slice(0, 20)],
  ])('a response with %s fails with %s', async (_, code, text) => {
    const { url } = await openServer((message, response) => {
      if (message.method !== 'tools/call') return false
      response.writeHead(200, JSON_TYPE).end(text(message))
      return true
    })
    const { connection } = await connectedTo(url)
    await expect(connection.call('echo', {}, patient)).rejects.toMatchObject({ code })
  })

  test('the bytes of a result are unchanged, including spaces', async () => {
    const written = '{ "content" : [],\n  "big": 12345678901234567890, "x\\u0041": 1.0 }'
    const { url } = await openServer((message, response) => {
      if (message.method !== 'tools/call') return false
      response
        .writeHead(200, JSON_TYPE)
        .end(`\n{"jsonrpc": "2.0",\r\n "id": ${message.id}, "result": ${written} }\n`)
      return true
    })
    const { connection } = await connectedTo(url)
    expect((await connection.call('echo', {}, patient)).bytes.toString()).toBe(written)
  })
})

describe('call', () => {
  test('a slow response is received within the timeout of the call', async () => {
    const { url } = await openServer((message, response) => {
      if (message.method !== 'tools/call') return false
      setTimeout(() => response.writeHead(200, JSON_TYPE).end(answerTo(message)), 300)
      return true
    })
    const { connection } = await connectedTo(url)
    expect(textOf(await connection.call('echo', { text: 'a' }, patient))).toBe('a')
  })

  test('an error status fails the call with the JSON-RPC error, or with the meaning of the status', async () => {
    let status = 0
    const { url } = await openServer((message, response) => {
      if (message.method !== 'tools/call') return false
      const body = `{"jsonrpc":"2.0","id":${message.id},"error":{"code":-32602,"message":"Unknown tool"}}`
      response.writeHead(status, { ...JSON_TYPE, 'retry-after': '3', 'www-authenticate': 'Bearer' }).end(body)
      return true
    })
    const { connection } = await connectedTo(url)
    const rejectedWith = async (next: number) => {
      status = next
      return connection.call('echo', {}, patient).catch((error: unknown) => error)
    }
    expect(await rejectedWith(400)).toMatchObject({ reason: 'remote', remote: { code: -32602 } })
    expect(await rejectedWith(500)).toMatchObject({ reason: 'remote' })
    expect(await rejectedWith(401)).toMatchObject({ code: 'auth_required', auth: { scheme: 'Bearer' } })
    expect(await rejectedWith(429)).toMatchObject({ code: 'rate_limited', retryAfterS: 3 })
    expect(await rejectedWith(503)).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('Unknown tool'),
    })
  })

  test('a call fails with session_lost when the server loses the session again after one new handshake', async () => {
    let sessions = 0
    const { url, requests } = await openServer(
      (message, response) => {
        if (message.method === 'initialize') sessions += 1
        if (message.method !== 'tools/call') return false
        response.writeHead(404).end()
        return true
      },
      { 'mcp-session-id': 'one' },
    )
    const { connection } = await connectedTo(url)
    await expect(connection.call('echo', {}, patient)).rejects.toMatchObject({ code: 'session_lost' })
    expect(sessions).toBe(2)
    expect(requests.filter(({ method }) => method === 'tools/call')).toHaveLength(2)
  })

  test('a call that is too large, or made after close, is refused without a request', async () => {
    const { url } = await openServer(() => false)
    const { connection } = await connectedTo(url)
    expect(await failureOf(connection.call('echo', { text: 'x'.repeat(11 * 1024 * 1024) }, patient))).toBe(
      'too_large',
    )
    await Promise.all([connection.close(), connection.close()])
    expect(await failureOf(connection.call('echo', {}, patient))).toBe('closed')
    expect(await failureOf(connection.refresh(100))).toBe('closed')
  })

  test('a pending call fails when the connection is closed', async () => {
    const { url, open } = await openServer((message) => message.method === 'tools/call')
    const { connection } = await connectedTo(url)
    const call = failureOf(connection.call('echo', {}, patient))
    await sleep(50)
    await connection.close()
    expect(await call).toBe('closed')
    await expect.poll(open).toBe(0)
  })
})

describe('handshake', () => {
  test('a server with a message endpoint at another origin is refused, and that origin gets no request', async () => {
    const elsewhere = await openServer(() => false)
    const { url } = await openServer((message, response) => {
      if (message.method === 'GET')
        response.writeHead(200, EVENT_STREAM).write(`event: endpoint\ndata: ${elsewhere.url}\n\n`)
      else response.writeHead(405).end()
      return true
    })
    const { connection, lost } = remoteTo(url, { transport: 'sse', headers: { 'x-api-key': 'secret' } })
    await expect(connection.connect(60_000)).rejects.toMatchObject({ code: 'redirect_refused' })
    expect([elsewhere.received, lost]).toEqual([[], []])
  })

  test('a client that is closed during the handshake leaves no connection open', async () => {
    const { url, open } = await openServer(() => true)
    const { connection } = remoteTo(url)
    const connecting = connection.connect(60_000).catch(({ code }: { code: string }) => code)
    await sleep(50)
    await connection.close()
    expect(await connecting).toBe('connection_reset')
    await expect.poll(open).toBe(0)
  })

  test('initialize follows when server/discover is answered with a web page', async () => {
    const { url, requests } = await openServer((message, response) => {
      if (message.method !== 'server/discover') return false
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>What?')
      return true
    })
    const { connection } = await connectedTo(url)
    expect(connection.handshake?.era).toBe('legacy')
    expect(requests.map(({ method }) => method)).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
      'tools/list',
    ])
  })
})
