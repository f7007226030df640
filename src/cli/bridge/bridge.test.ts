import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { Bridge } from './bridge.ts'
import { Link } from './gateway-link.ts'

/** A bridge in this process. */
function bridgeTo(
  find: () => string | undefined,
  timeoutMs = 5000,
  start?: () => Promise<string | undefined>,
) {
  const output: { lines: unknown[]; warnings: string[] } = { lines: [], warnings: [] }
  const bridge = new Bridge({
    link: new Link({ find, start, key: 'tk_test' }),
    write: (line) => void output.lines.push(JSON.parse(line.toString())),
    warn: (sentence) => void output.warnings.push(sentence),
    unavailable: 'Toolroom is not running',
    timeoutMs,
  })
  onTestFinished(() => bridge.end(0))
  const send = (message: object) =>
    bridge.receive(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })))
  return { output, send }
}

async function listen(handler: RequestListener): Promise<() => string> {
  const server = createServer(handler)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test('while Toolroom is unavailable, requests wait for the same time and then fail with a hint', async () => {
  const { output, send } = bridgeTo(() => undefined, 300)
  const startedAt = performance.now()
  send({ id: 0, method: 'initialize' })
  send({ method: 'notifications/initialized' })
  send({ id: 1, method: 'tools/list' })
  await expect.poll(() => output.lines.length).toBe(2)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(300)
  expect(output.lines).toEqual([0, 1].map((id) => unavailable(id)))
})

const unavailable = (id: number) => ({
  jsonrpc: '2.0',
  id,
  error: { code: -31_503, message: 'Toolroom is not running' },
})

test('the first request starts Toolroom and waits for it, and a sentence about a start that failed comes at once', async () => {
  const url = await listen((request, response) => void answer(request, response))
  let isUp = false
  let starts = 0
  const started = bridgeTo(
    () => (isUp ? url() : undefined),
    60_000,
    async () => {
      starts += 1
      isUp = true
      return undefined
    },
  )
  started.send({ id: 1, method: 'tools/list' })
  await expect.poll(() => started.output.lines).toEqual([{ jsonrpc: '2.0', id: 1, result: {} }])
  expect(starts).toBe(1)

  const failed = bridgeTo(
    () => undefined,
    3_600_000,
    async () => 'It could not be started',
  )
  failed.send({ id: 1, method: 'initialize' })
  await expect
    .poll(() => failed.output.lines)
    .toEqual([{ jsonrpc: '2.0', id: 1, error: { code: -31_503, message: 'It could not be started' } }])
  expect(failed.output.warnings).toEqual(['It could not be started'])
})

test('a ping, a notification and a subscription that is renewed start nothing, so that a stop lasts', async () => {
  let isOpen = true
  let missed = 0
  let starts = 0
  const url = await listen((request) => {
    isOpen = false
    request.socket.destroy()
  })
  const find = () => {
    if (isOpen) return url()
    missed += 1
    return undefined
  }
  const start = async () => {
    starts += 1
    return undefined
  }
  const { output, send } = bridgeTo(find, 300, start)
  send({ id: 'l', method: 'subscriptions/listen' })
  await expect.poll(() => missed).toBeGreaterThan(1)
  send({ method: 'notifications/initialized' })
  send({ id: 1, method: 'ping' })
  await expect.poll(() => output.lines).toEqual([unavailable(1)])
  expect(starts).toBe(0)
})

test('the address is looked up when a connection is opened, and not for each request', async () => {
  const url = await listen((request, response) => void answer(request, response))
  let lookups = 0
  const { output, send } = bridgeTo(() => {
    lookups += 1
    return url()
  })
  for (const id of [1, 2, 3]) {
    send({ id, method: 'tools/list' })
    await expect.poll(() => output.lines.length).toBe(id)
  }
  expect(lookups).toBe(1)
})

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { id } = (await json(request)) as { id: number }
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ jsonrpc: '2.0', id, result: {} }))
}

test('a request whose connection breaks three times fails', async () => {
  let count = 0
  const url = await listen((request) => {
    count += 1
    request.socket.destroy()
  })
  const { output, send } = bridgeTo(url)
  send({ id: 1, method: 'tools/list' })
  await expect.poll(() => output.lines.length).toBe(1)
  expect(output.lines).toMatchObject([{ id: 1, error: { code: -31_503 } }])
  expect(count).toBe(3)
})

test('a tool call whose connection breaks is not repeated', async () => {
  let count = 0
  const url = await listen((request) => {
    count += 1
    request.socket.destroy()
  })
  const { output, send } = bridgeTo(url)
  send({ id: 1, method: 'tools/call', params: { name: 'x' } })
  await expect.poll(() => output.lines.length).toBe(1)
  expect(output.lines).toMatchObject([
    { error: { message: expect.stringContaining('may or may not have been executed') } },
  ])
  expect(count).toBe(1)
})

test.each([
  ['a page of another program', 200, 'text/html', '<p>hello</p>', 'HTTP 200'],
  [
    'a refusal by the gateway',
    403,
    'application/problem+json',
    '{"detail":"Not from there"}',
    'Not from there',
  ],
  ['an empty response', 202, 'text/plain', '', 'HTTP 202'],
])('%s becomes an error of the request', async (_, status, type, body, sentence) => {
  const url = await listen((_request, response) => {
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  const { output, send } = bridgeTo(url)
  send({ id: 'a', method: 'tools/list' })
  await expect.poll(() => output.lines.length).toBe(1)
  expect(output.lines).toMatchObject([
    { id: 'a', error: { code: -31_502, message: expect.stringContaining(sentence) } },
  ])
})

test('multi-line JSON is written on one line, and a refusal without an id gets the id of its request', async () => {
  const answers = [
    { status: 200, body: '{\n "jsonrpc": "2.0",\n "id": 1,\n "result": {}\n}' },
    { status: 400, body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}' },
  ]
  const url = await listen((_request, response) => {
    const { status = 500, body } = answers.shift() ?? {}
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  const { output, send } = bridgeTo(url)
  send({ id: 1, method: 'a' })
  await expect.poll(() => output.lines.length).toBe(1)
  send({ id: 2, method: 'b' })
  await expect.poll(() => output.lines.length).toBe(2)
  expect(output.lines).toEqual([
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 2, error: { code: -32_600, message: 'no' } },
  ])
})

test('the stream of a session resumes after the last received event', async () => {
  const since: unknown[] = []
  const url = await listen((request, response) => {
    const json = { 'content-type': 'application/json', 'mcp-session-id': 's1' }
    if (request.method === 'GET') {
      since.push(request.headers['last-event-id'])
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const message = JSON.stringify({ jsonrpc: '2.0', method: `notifications/${since.length}` })
      response.write(`id: e${since.length}\ndata: ${message}\n\n`)
      if (since.length < 3) response.end()
    } else if (since.length === 0 && request.headers['mcp-session-id'] === undefined) {
      response.writeHead(200, json).end('{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}')
    } else response.writeHead(202).end()
  })
  const { output, send } = bridgeTo(url)
  send({ id: 0, method: 'initialize' })
  send({ method: 'notifications/initialized' })
  await expect.poll(() => output.lines.length).toBe(4)
  expect(since).toEqual([undefined, 'e1', 'e2'])
  expect(output.lines.slice(1).map((line) => (line as { method: string }).method)).toEqual([
    'notifications/1',
    'notifications/2',
    'notifications/3',
  ])
})

test('a subscription that the gateway ends is renewed, and the agent receives a change notification instead', async () => {
  let count = 0
  const url = await listen((_request, response) => {
    count += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = (message: object) =>
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
    const params = { notifications: { toolsListChanged: true }, _meta: { tag: count } }
    event({ method: 'notifications/subscriptions/acknowledged', params })
    if (count > 1) return
    event({ method: 'notifications/cancelled', params: { requestId: 'l' } })
    event({ id: 'l', result: {} })
    response.end()
  })
  const { output, send } = bridgeTo(url)
  send({ id: 'l', method: 'subscriptions/listen' })
  await expect.poll(() => output.lines.length).toBe(2)
  expect(output.lines).toMatchObject([
    { method: 'notifications/subscriptions/acknowledged', params: { _meta: { tag: 1 } } },
    { method: 'notifications/tools/list_changed', params: { _meta: { tag: 2 } } },
  ])
})
