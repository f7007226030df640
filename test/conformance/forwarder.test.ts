import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startForwarder } from './forwarder.mjs'

/** The proxy between the conformance suite and the gateway must not change what the suite tests. */

const KEY = { Authorization: 'Bearer one-key' }

test('the forwarder adds the key and passes everything else through unchanged', async () => {
  const { forwarder, seen } = await service((_, response) =>
    response.writeHead(404, { 'X-Odd': 'yes' }).end('no'),
  )
  const reply = await ask(`${forwarder}?a=1`, {
    method: 'POST',
    headers: { 'Mcp-Method': 'ping' },
    body: '{}',
  })

  expect(seen[0]).toMatchObject({ method: 'POST', url: '/mcp/fixture?a=1', body: '{}' })
  expect(seen[0]?.headers).toMatchObject({ authorization: 'Bearer one-key', 'mcp-method': 'ping' })
  expect(seen[0]?.rawHeaders).toContain('Mcp-Method')
  expect(reply).toMatchObject({ status: 404, text: 'no', headers: { 'x-odd': 'yes' } })
})

test('the forwarder rewrites its own name to that of the target and keeps other names', async () => {
  const { target, forwarder, seen } = await service((_, response) => response.end())
  const own = new URL(forwarder).host
  await ask(forwarder, { headers: { Host: own, Origin: `http://${own}` } })
  await ask(forwarder, { headers: { Host: 'evil.example.com', Origin: 'http://evil.example.com' } })

  expect(seen[0]?.headers).toMatchObject({ host: target, origin: `http://${target}` })
  expect(seen[1]?.headers).toMatchObject({ host: 'evil.example.com', origin: 'http://evil.example.com' })
  expect(seen[1]?.headers.authorization).toBe('Bearer one-key')
})

test('the forwarder streams each chunk immediately, and the target sees when the client disconnects', async () => {
  let close: Promise<unknown> = Promise.resolve()
  const { forwarder } = await service((_, response) => {
    close = once(response, 'close')
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: 1\n\n')
  })
  const stream = request(forwarder).end()
  const [response] = (await once(stream, 'response')) as [IncomingMessage]
  const [chunk] = await once(response, 'data')
  stream.destroy()

  expect(String(chunk)).toBe('data: 1\n\n')
  await close
})

interface Seen extends Pick<IncomingMessage, 'headers' | 'rawHeaders' | 'method' | 'url'> {
  readonly body: string
}

async function service(answer: (request: IncomingMessage, response: ServerResponse) => unknown) {
  const seen: Seen[] = []
  const server = createServer(async (message, response) => {
    const { headers, rawHeaders, method, url } = message
    seen.push({ headers, rawHeaders, method, url, body: await textOf(message) })
    answer(message, response)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const target = `127.0.0.1:${(server.address() as AddressInfo).port}`
  const forwarder = await startForwarder(`http://${target}/mcp/fixture`, KEY)
  onTestFinished(async () => {
    await forwarder.close()
    server.close()
    server.closeAllConnections()
  })
  return { target, forwarder: forwarder.url, seen }
}

interface Sent {
  readonly method?: string
  readonly headers?: Record<string, string>
  readonly body?: string
}

/** Not `fetch`, which does not allow setting the Host header. */
async function ask(url: string, { method = 'GET', headers = {}, body }: Sent) {
  const [response] = (await once(request(url, { method, headers }).end(body), 'response')) as [
    IncomingMessage,
  ]
  return { status: response.statusCode, headers: response.headers, text: await textOf(response) }
}

async function textOf(stream: IncomingMessage) {
  let text = ''
  for await (const chunk of stream.setEncoding('utf8')) text += chunk
  return text
}
