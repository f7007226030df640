import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Bridge } from './bridge.ts'
import { Link } from './link.ts'

/** A bridge in this process, to whatever is at the other end. */
function bridgeTo(find: () => string | undefined, patienceMs = 5000) {
  const said: { lines: unknown[]; warnings: string[] } = { lines: [], warnings: [] }
  const bridge = new Bridge({
    link: new Link({ find, key: 'tk_test' }),
    write: (line) => void said.lines.push(JSON.parse(line.toString())),
    warn: (sentence) => void said.warnings.push(sentence),
    away: 'Nobody is there',
    patienceMs,
  })
  onTestFinished(() => bridge.end(0))
  const say = (message: object) => bridge.take(Buffer.from(JSON.stringify({ jsonrpc: '2.0', ...message })))
  return { said, say, bridge }
}

async function listening(answer: RequestListener): Promise<() => string> {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close().closeAllConnections())
  return () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test('while nobody answers requests wait, all for the same time, and then are told what to do', async () => {
  const { said, say } = bridgeTo(() => undefined, 300)
  const startedAt = performance.now()
  say({ id: 0, method: 'initialize' })
  say({ method: 'notifications/initialized' })
  say({ id: 1, method: 'tools/list' })
  await expect.poll(() => said.lines.length).toBe(2)
  expect(performance.now() - startedAt).toBeGreaterThanOrEqual(300)
  expect(said.lines).toEqual([0, 1].map((id) => away(id)))
})

const away = (id: number) => ({ jsonrpc: '2.0', id, error: { code: -31_503, message: 'Nobody is there' } })

test('a request that breaks off again and again is given up', async () => {
  let asked = 0
  const url = await listening((request) => {
    asked += 1
    request.socket.destroy()
  })
  const { said, say } = bridgeTo(url)
  say({ id: 1, method: 'tools/list' })
  await expect.poll(() => said.lines.length).toBe(1)
  expect(said.lines).toMatchObject([{ id: 1, error: { code: -31_503 } }])
  expect(asked).toBe(3)
})

test('a call that breaks off is made once', async () => {
  let asked = 0
  const url = await listening((request) => {
    asked += 1
    request.socket.destroy()
  })
  const { said, say } = bridgeTo(url)
  say({ id: 1, method: 'tools/call', params: { name: 'x' } })
  await expect.poll(() => said.lines.length).toBe(1)
  expect(said.lines).toMatchObject([{ error: { message: expect.stringContaining('carried out or not') } }])
  expect(asked).toBe(1)
})

test.each([
  ['a page of another program', 200, 'text/html', '<p>hello</p>', 'HTTP 200'],
  ['a refusal at the door', 403, 'application/problem+json', '{"detail":"Not from there"}', 'Not from there'],
  ['nothing at all', 202, 'text/plain', '', 'HTTP 202'],
])('%s is told as an error of the request', async (_, status, type, body, sentence) => {
  const url = await listening((_request, response) => {
    response.writeHead(status, { 'content-type': type }).end(body)
  })
  const { said, say } = bridgeTo(url)
  say({ id: 'a', method: 'tools/list' })
  await expect.poll(() => said.lines.length).toBe(1)
  expect(said.lines).toMatchObject([
    { id: 'a', error: { code: -31_502, message: expect.stringContaining(sentence) } },
  ])
})

test('JSON over several lines becomes one, and a refusal without an id gets that of its request', async () => {
  const answers = [
    { status: 200, body: '{\n "jsonrpc": "2.0",\n "id": 1,\n "result": {}\n}' },
    { status: 400, body: '{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}' },
  ]
  const url = await listening((_request, response) => {
    const { status = 500, body } = answers.shift() ?? {}
    response.writeHead(status, { 'content-type': 'application/json' }).end(body)
  })
  const { said, say } = bridgeTo(url)
  say({ id: 1, method: 'a' })
  await expect.poll(() => said.lines.length).toBe(1)
  say({ id: 2, method: 'b' })
  await expect.poll(() => said.lines.length).toBe(2)
  expect(said.lines).toEqual([
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 2, error: { code: -32_600, message: 'no' } },
  ])
})

test('the stream of a session goes on after the last event that was heard', async () => {
  const since: unknown[] = []
  const url = await listening((request, response) => {
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
  const { said, say } = bridgeTo(url)
  say({ id: 0, method: 'initialize' })
  say({ method: 'notifications/initialized' })
  await expect.poll(() => said.lines.length).toBe(4)
  expect(since).toEqual([undefined, 'e1', 'e2'])
  expect(said.lines.slice(1).map((line) => (line as { method: string }).method)).toEqual([
    'notifications/1',
    'notifications/2',
    'notifications/3',
  ])
})

test('listening that is ended by who goes away is begun again, and the agent sees a change instead', async () => {
  let asked = 0
  const url = await listening((_request, response) => {
    asked += 1
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    const event = (message: object) =>
      response.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
    const params = { notifications: { toolsListChanged: true }, _meta: { tag: asked } }
    event({ method: 'notifications/subscriptions/acknowledged', params })
    if (asked > 1) return
    event({ method: 'notifications/cancelled', params: { requestId: 'l' } })
    event({ id: 'l', result: {} })
    response.end()
  })
  const { said, say } = bridgeTo(url)
  say({ id: 'l', method: 'subscriptions/listen' })
  await expect.poll(() => said.lines.length).toBe(2)
  expect(said.lines).toMatchObject([
    { method: 'notifications/subscriptions/acknowledged', params: { _meta: { tag: 1 } } },
    { method: 'notifications/tools/list_changed', params: { _meta: { tag: 2 } } },
  ])
})
