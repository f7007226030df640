import type { IncomingMessage, ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openFaults } from '../../../../test/fixtures/http/faults.ts'
import { openHttp } from '../../../../test/fixtures/http/sites.ts'
import { type Asked, answerTo, bodyOf } from '../../../../test/fixtures/http/tiny.ts'
import { failureOf } from '../../../../test/support/pair.ts'
import { connectedTo, remoteTo, textOf } from '../../../../test/support/remote.ts'

const patient = { timeoutMs: 3000 }
const EVENT_STREAM = { 'content-type': 'text/event-stream' }
const JSON_TYPE = { 'content-type': 'application/json' }

type Special = (asked: Asked, response: ServerResponse, request: IncomingMessage) => boolean | undefined

/** A legacy server; what `special` takes it answers itself. Everything that was sent is in `heard`. */
async function server(special: Special, headers: Record<string, string> = {}) {
  const heard: Asked[] = []
  const site = await openHttp(async (request, response) => {
    const asked = request.method === 'POST' ? await bodyOf(request) : { method: `${request.method}` }
    heard.push(asked)
    if (special(asked, response, request)) return
    if (request.method !== 'POST') return void response.writeHead(405).end()
    if (asked.id === undefined || asked.method === undefined) return void response.writeHead(202).end()
    response.writeHead(200, { ...JSON_TYPE, ...headers }).end(answerTo(asked))
  })
  onTestFinished(() => site.close())
  return { ...site, url: `${site.origin}/mcp`, heard }
}

describe('an answer', () => {
  test('may come after other messages, byte by byte, and what the server asks meanwhile is answered', async () => {
    const faults = await openFaults()
    onTestFinished(() => void faults.close())
    const { connection, names } = await connectedTo(faults.urls.chatty_sse)
    expect(names()).toEqual(['echo'])
    expect(textOf(await connection.call('echo', { text: 'grüße 🎈' }, patient))).toBe('grüße 🎈')
    expect(connection.transport).toBe('streamable_http')
  })

  test('to what a server asks within a stream is sent to it', async () => {
    const { url, heard } = await server((asked, response) => {
      if (asked.method !== 'tools/call') return false
      const asks = ['ping', 'roots/list', 'sampling/createMessage']
      const events = asks.map((method, id) => `data: {"jsonrpc":"2.0","id":${id},"method":"${method}"}\n\n`)
      response.writeHead(200, EVENT_STREAM).end(`${events.join('')}data: ${answerTo(asked)}\n\n`)
      return true
    })
    const { connection } = await connectedTo(url)
    await connection.call('echo', { text: 'a' }, patient)
    const answers = () =>
      heard.filter(({ method }) => method === undefined).toSorted((a, b) => Number(a.id) - Number(b.id))
    await expect.poll(() => answers().length).toBe(3)
    expect(answers()).toEqual([
      { jsonrpc: '2.0', id: 0, result: {} },
      { jsonrpc: '2.0', id: 1, result: { roots: [] } },
      { jsonrpc: '2.0', id: 2, error: { code: -32601, message: 'sampling/createMessage is not supported' } },
    ])
  })

  test('in a stream that stays open afterwards is taken, and the stream closed', async () => {
    const { url, open } = await server((asked, response) => {
      if (asked.method !== 'tools/call') return false
      response.writeHead(200, EVENT_STREAM).write(`data: ${answerTo(asked)}\n\n`)
      return true
    })
    const { connection } = await connectedTo(url)
    expect(textOf(await connection.call('echo', { text: 'a' }, patient))).toBe('a')
    await expect.poll(open, { timeout: 3000 }).toBeLessThan(2)
  })

  test('that a server promises for later is fetched where its stream ended', async () => {
    let first: Asked | undefined
    const { url, heard } = await server((asked, response, request) => {
      if (asked.method === 'tools/call') {
        first = asked
        response.writeHead(200, EVENT_STREAM).end('id: s1\nretry: 20\ndata:\n\n')
        return true
      }
      const from = request.headers['last-event-id']
      if (asked.method !== 'GET' || from === undefined || !first) return false
      const events =
        from === 's1'
          ? 'id: s2\nretry: 20\ndata: {"jsonrpc":"2.0","method":"x"}\n\n'
          : `data: ${answerTo(first)}\n\n`
      response.writeHead(200, EVENT_STREAM).end(events)
      return true
    })
    const { connection } = await connectedTo(url)
    expect(textOf(await connection.call('echo', { text: 'late' }, patient))).toBe('late')
    expect(heard.filter(({ method }) => method === 'GET')).toHaveLength(2)
  })

  test.each([
    ['another id', 'protocol_error', (asked: Asked) => answerTo({ ...asked, id: 999 })],
    [
      'an id as text',
      'protocol_error',
      (asked: Asked) => answerTo(asked).replace(`"id":${asked.id}`, `"id":"${asked.id}"`),
    ],
    ['a batch', 'not_mcp', (asked: Asked) => `[${answerTo(asked)}]`],
    ['a notification', 'protocol_error', () => '{"jsonrpc":"2.0","method":"notifications/message"}'],
    ['half of it', 'not_mcp', (asked: Asked) => answerTo(asked).slice(0, 20)],
  ])('with %s is no answer: %s', async (_, code, text) => {
    const { url } = await server((asked, response) => {
      if (asked.method !== 'tools/call') return false
      response.writeHead(200, JSON_TYPE).end(text(asked))
      return true
    })
    const { connection } = await connectedTo(url)
    await expect(connection.call('echo', {}, patient)).rejects.toMatchObject({ code })
  })

  test('is given as it was written, spaces and all', async () => {
    const written = '{ "content" : [],\n  "big": 12345678901234567890, "x\\u0041": 1.0 }'
    const { url } = await server((asked, response) => {
      if (asked.method !== 'tools/call') return false
      response
        .writeHead(200, JSON_TYPE)
        .end(`\n{"jsonrpc": "2.0",\r\n "id": ${asked.id}, "result": ${written} }\n`)
      return true
    })
    const { connection } = await connectedTo(url)
    expect((await connection.call('echo', {}, patient)).json.toString()).toBe(written)
  })
})

describe('a call', () => {
  test('that is slow to begin its answer has all of its time', async () => {
    const { url } = await server((asked, response) => {
      if (asked.method !== 'tools/call') return false
      setTimeout(() => response.writeHead(200, JSON_TYPE).end(answerTo(asked)), 300)
      return true
    })
    const { connection } = await connectedTo(url)
    expect(textOf(await connection.call('echo', { text: 'a' }, patient))).toBe('a')
  })

  test('that a server refuses by status fails with what that says', async () => {
    let status = 0
    const { url } = await server((asked, response) => {
      if (asked.method !== 'tools/call') return false
      const body = `{"jsonrpc":"2.0","id":${asked.id},"error":{"code":-32602,"message":"Unknown tool"}}`
      response.writeHead(status, { ...JSON_TYPE, 'retry-after': '3', 'www-authenticate': 'Bearer' }).end(body)
      return true
    })
    const { connection } = await connectedTo(url)
    const refused = async (next: number) => {
      status = next
      return connection.call('echo', {}, patient).catch((error: unknown) => error)
    }
    expect(await refused(400)).toMatchObject({ reason: 'remote', remote: { code: -32602 } })
    expect(await refused(500)).toMatchObject({ reason: 'remote' })
    expect(await refused(401)).toMatchObject({ code: 'auth_required', auth: { scheme: 'Bearer' } })
    expect(await refused(429)).toMatchObject({ code: 'rate_limited', retryAfterS: 3 })
    expect(await refused(503)).toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('Unknown tool'),
    })
  })

  test('in a session that is forgotten each time fails with session_lost, after one new handshake', async () => {
    let sessions = 0
    const { url, heard } = await server(
      (asked, response) => {
        if (asked.method === 'initialize') sessions += 1
        if (asked.method !== 'tools/call') return false
        response.writeHead(404).end()
        return true
      },
      { 'mcp-session-id': 'one' },
    )
    const { connection } = await connectedTo(url)
    await expect(connection.call('echo', {}, patient)).rejects.toMatchObject({ code: 'session_lost' })
    expect(sessions).toBe(2)
    expect(heard.filter(({ method }) => method === 'tools/call')).toHaveLength(2)
  })

  test('that is too large to be sent, or comes after the end, is refused here', async () => {
    const { url } = await server(() => false)
    const { connection } = await connectedTo(url)
    expect(await failureOf(connection.call('echo', { text: 'x'.repeat(11 * 1024 * 1024) }, patient))).toBe(
      'too_large',
    )
    await Promise.all([connection.close(), connection.close()])
    expect(await failureOf(connection.call('echo', {}, patient))).toBe('closed')
    expect(await failureOf(connection.refresh(100))).toBe('closed')
  })

  test('in flight ends with the connection', async () => {
    const { url, open } = await server((asked) => asked.method === 'tools/call')
    const { connection } = await connectedTo(url)
    const call = failureOf(connection.call('echo', {}, patient))
    await sleep(50)
    await connection.close()
    expect(await call).toBe('closed')
    await expect.poll(open).toBe(0)
  })
})

describe('a server that is not greeted', () => {
  test('because it wants messages at another origin gets none', async () => {
    const elsewhere = await server(() => false)
    const { url } = await server((asked, response) => {
      if (asked.method === 'GET')
        response.writeHead(200, EVENT_STREAM).write(`event: endpoint\ndata: ${elsewhere.url}\n\n`)
      else response.writeHead(405).end()
      return true
    })
    const { connection, lost } = remoteTo(url, { transport: 'sse', headers: { 'x-api-key': 'secret' } })
    await expect(connection.connect(2000)).rejects.toMatchObject({ code: 'redirect_refused' })
    expect([elsewhere.received, lost]).toEqual([[], []])
  })

  test('while it is closed leaves nothing behind', async () => {
    const { url, open } = await server(() => true)
    const { connection } = remoteTo(url)
    const connecting = connection.connect(5000).catch(({ code }: { code: string }) => code)
    await sleep(50)
    await connection.close()
    expect(await connecting).toBe('connection_reset')
    await expect.poll(open).toBe(0)
  })

  test('in one way, because it answers that with a page, is greeted in another', async () => {
    const { url, heard } = await server((asked, response) => {
      if (asked.method !== 'server/discover') return false
      response.writeHead(200, { 'content-type': 'text/html' }).end('<p>What?')
      return true
    })
    const { connection } = await connectedTo(url)
    expect(connection.handshake?.era).toBe('legacy')
    expect(heard.map(({ method }) => method)).toEqual([
      'server/discover',
      'initialize',
      'notifications/initialized',
      'tools/list',
    ])
  })
})
