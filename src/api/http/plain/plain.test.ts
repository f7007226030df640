import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { runs } from '../../../../test/support/full-or-short.ts'
import type { AnyRequest, HttpResponse, WholeRequest } from '../../../kernel/http/http-types.ts'
import { EarlyListener } from '../early-listener.ts'
import { RequestHeads } from './request-head.ts'

/** Whether node:http has read the request, or it was answered without. */
const isWhole = (request: AnyRequest): boolean => 'body' in request

async function bodyOf(request: AnyRequest): Promise<string> {
  if ('body' in request) return request.body.toString()
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return Buffer.concat(parts).toString()
}

const respond = async (request: AnyRequest, response: HttpResponse): Promise<void> => {
  const said = `${isWhole(request) ? 'plain' : 'node'} ${request.url} ${await bodyOf(request)}`
  response
    .writeHead(200, { 'content-type': 'text/plain', 'content-length': Buffer.byteLength(said) })
    .end(said)
}

async function openFront(listener: (request: AnyRequest, response: HttpResponse) => unknown = respond) {
  const front = new EarlyListener({
    allowedHosts: [],
    gateway: {
      takes: (url) => url.startsWith('/mcp'),
      listener: (...both) => void listener(...both),
      opens: ({ headers }) => headers.authorization !== 'wrong',
    },
  })
  front.serve(
    (_, response) => void response.end('the API'),
    (_, socket) => void socket.write('upgraded'),
  )
  await front.listen('127.0.0.1', 0)
  onTestFinished(() => front.close())
  return front
}

/** A connection that collects what it receives. */
function client(port: number) {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  onTestFinished(() => void socket.destroy())
  const seen = { text: '' }
  socket.on('data', (part) => {
    seen.text += part.toString()
  })
  socket.on('error', () => {})
  return {
    socket,
    send: (text: string | Buffer) => socket.write(text),
    closed: once(socket, 'close'),
    until: (text: string) => expect.poll(() => seen.text, { timeout: 20_000, interval: 5 }).toContain(text),
    text: () => seen.text,
    bodies: () => seen.text.match(/(?:plain|node) \/\S* [^H]*/g) ?? [],
  }
}

const post = (port: number, body: string, more = '', path = '/mcp') =>
  `POST ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: text/plain\r\n${more}Content-Length: ${body.length}\r\n\r\n${body}`

test('plain requests are answered without node:http, and another request on the same connection by it', async () => {
  const { port } = await openFront()
  const { send, until, bodies } = client(port)
  send(post(port, 'one'))
  await until('plain /mcp one')
  send(post(port, 'longer', '', '/mcp/x'))
  await until('plain /mcp/x longer')
  send(post(port, 'two', 'TE: trailers\r\n'))
  await until('node /mcp two')
  send(post(port, 'three'))
  await until('node /mcp three')
  expect(bodies()).toEqual(['plain /mcp one', 'plain /mcp/x longer', 'node /mcp two', 'node /mcp three'])
})

test('each request is read with its own headers, however much it resembles the one before', async () => {
  const { port } = await openFront(({ headers }, response) =>
    response.writeHead(200).end(`<${headers['x-before']} ${headers['x-after']}>`),
  )
  const { send, until } = client(port)
  const request = (before: string, after: string) =>
    `POST /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nX-Before: ${before}\r\nContent-Length: 2\r\nX-After: ${after}\r\n\r\n{}`
  for (const [before, after] of [
    ['a', 'a'],
    ['a', 'a'],
    ['b', 'a'],
    ['b', 'b'],
    ['a', 'bb'],
  ] as const) {
    send(request(before, after))
    await until(`<${before} ${after}>`)
  }
})

test('a client that wants the connection closed gets its response, and the connection is closed', async () => {
  const { port } = await openFront()
  const { send, closed, text } = client(port)
  send(post(port, 'last', 'Connection: close\r\n'))
  await closed
  expect(text()).toContain('node /mcp last')
})

test('a program that watches the service sees plain requests and their responses', async () => {
  const seen: unknown[] = []
  const onStart = (message: unknown) => {
    const { request, response } = message as { request: WholeRequest; response: HttpResponse }
    response.on('close', () => seen.push([request.url, request.body.toString()]))
  }
  subscribe('toolroom.http.request.start', onStart)
  onTestFinished(() => void unsubscribe('toolroom.http.request.start', onStart))
  const { port } = await openFront()
  const { send } = client(port)
  send(post(port, 'watched'))
  await expect.poll(() => seen).toEqual([['/mcp', 'watched']])
})

test('requests to other paths, and with other methods, are left to node:http', async () => {
  const { port } = await openFront()
  const api = client(port)
  api.send(post(port, 'x', '', '/api/servers'))
  await api.until('the API')
  const get = client(port)
  get.send(`GET /mcp HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n\r\n`)
  await get.until('node /mcp')
})

test('the response has the headers that node:http would send', async () => {
  const { port } = await openFront()
  const headers = async (more: Record<string, string>) => {
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body: 'x', headers: more })
    const { date, ...others } = Object.fromEntries(response.headers)
    expect(Math.abs(Date.parse(String(date)) - Date.now())).toBeLessThan(10_000)
    return { body: await response.text(), ...others }
  }
  const plain = await headers({})
  const byNode = await headers({ te: 'trailers' })
  expect([plain.body, byNode.body]).toEqual(['plain /mcp x', 'node /mcp x'])
  expect(plain).toEqual({ ...byNode, body: plain.body, 'content-length': '12' })
})

test('a request that arrives in parts is the same request, wherever it was cut', async () => {
  const { port } = await openFront()
  const bytes = post(port, 'in two parts')
  for (let cut = 1; cut < bytes.length; cut += 7) {
    const { socket, send, until, bodies } = client(port)
    send(bytes.slice(0, cut))
    await sleep(3)
    send(bytes.slice(cut))
    await until('in two parts')
    expect(bodies(), `cut at ${cut}`).toHaveLength(1)
    socket.destroy()
  }
})

test('a body of 256 KiB is read without node:http; a larger one, and one in many parts, by it', async () => {
  const { port } = await openFront(async (request, response) => {
    response.writeHead(200).end(`${isWhole(request) ? 'plain' : 'node'} ${(await bodyOf(request)).length}`)
  })
  const large = client(port)
  large.send(post(port, 'x'.repeat(256 * 1024)))
  await large.until('plain 262144')
  const larger = client(port)
  larger.send(post(port, 'x'.repeat(513 * 1024)))
  await larger.until('node 525312')
  const inParts = client(port)
  const bytes = post(port, 'x'.repeat(200))
  inParts.send(bytes.slice(0, -200))
  for (let n = 0; n < 200; n += 1) {
    inParts.send('x')
    await sleep(2)
  }
  await inParts.until('node 200')
})

test('requests that are sent before the response to the last one are answered in their order', async () => {
  const { port } = await openFront(async (request, response) => {
    const body = await bodyOf(request)
    await sleep(body === 'first' ? 30 : 0)
    response.writeHead(200).end(`<${body}>`)
  })
  const apart = client(port)
  apart.send(post(port, 'first'))
  await sleep(5)
  apart.send(post(port, 'second'))
  await apart.until('<second>')
  expect(apart.text().match(/<\w+>/g)).toEqual(['<first>', '<second>'])
  const together = client(port)
  together.send(post(port, 'first') + post(port, 'second') + post(port, 'third'))
  await together.until('<third>')
  expect(together.text().match(/<\w+>/g)).toEqual(['<first>', '<second>', '<third>'])
})

test('a request that the gate refuses gets the refusal, also after one that it let in', async () => {
  const { port } = await openFront()
  const { send, until } = client(port)
  send(post(port, 'one'))
  await until('plain /mcp one')
  send(post(port, 'two', 'Origin: https://evil.example\r\n'))
  await until('origin_not_allowed')
  const rebound = client(port)
  rebound.send(post(port, 'x').replace(`127.0.0.1:${port}`, 'evil.example'))
  await rebound.until('host_not_allowed')
})

test('a response in parts is a stream that clients can read, and one without a body has the length 0', async () => {
  const { port } = await openFront(async (_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
    for (const part of ['one ', '', Buffer.from('two '), 'drei €']) {
      response.write(part)
      await sleep(2)
    }
    response.end()
  })
  const ask = () => fetch(`http://127.0.0.1:${port}/mcp`, { method: 'POST', body: 'x' })
  expect(await (await ask()).text()).toBe('one two drei €')
  expect(await (await ask()).text()).toBe('one two drei €')
  const accepting = await openFront((_, response) => response.writeHead(202).end())
  const accepted = await fetch(`http://127.0.0.1:${accepting.port}/mcp`, { method: 'POST', body: 'x' })
  expect([accepted.status, accepted.headers.get('content-length')]).toEqual([202, '0'])
})

test('a response learns that the client has disconnected, once, and also that it was sent', async () => {
  const closed: string[] = []
  const responses: HttpResponse[] = []
  const { port } = await openFront(async (request, response) => {
    responses.push(response)
    const body = await bodyOf(request)
    response.on('close', () => closed.push(body))
    if (body === 'answered') response.writeHead(200).end('done')
  })
  const { send, until, socket } = client(port)
  send(post(port, 'answered'))
  await until('done')
  send(post(port, 'never'))
  await expect.poll(() => responses.length).toBe(2)
  expect(responses.map(({ destroyed }) => destroyed)).toEqual([true, false])
  socket.end()
  await expect.poll(() => closed).toEqual(['answered', 'never'])
  expect(responses[1]?.destroyed).toBe(true)
  expect(() => responses[1]?.writeHead(200).end('too late')).not.toThrow()
})

test('a request that ends in the middle gets the error that node:http gives it', async () => {
  const { port } = await openFront()
  for (const cut of [20, -3]) {
    const { socket, text, closed } = client(port)
    socket.end(post(port, 'cut short').slice(0, cut))
    await closed
    expect(text(), `cut at ${cut}`).toMatch(/^HTTP\/1\.1 400 .*not valid HTTP.*"code":"bad_request"/s)
  }
})

test('a disconnect is noticed also after requests that were sent before the response to the last one', async () => {
  const closed: string[] = []
  const { port } = await openFront(async (request, response) => {
    const body = await bodyOf(request)
    response.on('close', () => closed.push(body))
  })
  for (const early of [1, 2, 3]) {
    const { socket, send } = client(port)
    send(post(port, `slow ${early}`))
    for (let n = 0; n < early; n += 1) {
      await sleep(20)
      send(post(port, 'early'))
    }
    await sleep(20)
    socket.destroy()
    await expect.poll(() => closed).toContain(`slow ${early}`)
  }
  const { socket, send } = client(port)
  send(post(port, 'much'))
  await sleep(20)
  send(post(port, 'x'.repeat(300_000)))
  await sleep(50)
  socket.destroy()
  await expect.poll(() => closed).toContain('much')
})

test('a body that arrives in parts is kept only if the head of its request opens the route', async () => {
  const { port } = await openFront()
  const bytes = post(port, 'in two parts', 'Authorization: wrong\r\n')
  const wrong = client(port)
  wrong.send(bytes.slice(0, -5))
  await sleep(30)
  wrong.send(bytes.slice(-5))
  await wrong.until('node /mcp in two parts')
  const foreign = client(port)
  foreign.send(post(port, 'x'.repeat(1000), 'Origin: https://evil.example\r\n').slice(0, -5))
  await foreign.until('origin_not_allowed') // although its body is not complete
})

test('in a pipeline 100 Continue is not written into a response, and an ignored upgrade offer is answered after it', async () => {
  const { port } = await openFront(async (request, response) => {
    const body = await bodyOf(request)
    await sleep(body === 'slow' ? 100 : 0)
    response.writeHead(200, { 'content-type': 'text/plain' })
    response.write(`<${body}`)
    await sleep(20)
    response.end('>')
  })
  const host = `Host: 127.0.0.1:${port}\r\n`
  const slow = `PUT /mcp HTTP/1.1\r\n${host}Content-Length: 4\r\n\r\nslow`
  const expecting = `PUT /mcp HTTP/1.1\r\n${host}Expect: 100-continue\r\nContent-Length: 4\r\n\r\n`
  const continued = client(port)
  continued.send(slow + expecting)
  await continued.until('100 Continue')
  continued.send('last')
  await continued.until('<last')
  expect(
    continued
      .text()
      .split(/(?=HTTP\/1\.1 )/)
      .map((each) => /<\w+|Continue/.exec(each)?.[0]),
  ).toEqual(['<slow', 'Continue', '<last'])

  const offering = client(port)
  const offer = `GET /mcp HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n`
  offering.send(slow + offer + slow)
  await expect.poll(() => offering.text().match(/HTTP\/1\.1 200 OK/g)?.length, { timeout: 20_000 }).toBe(3)
  expect(offering.text().indexOf('<slow')).toBeLessThan(offering.text().lastIndexOf('HTTP/1.1 200'))

  const upgrading = client(port)
  const websocket = `GET /ws HTTP/1.1\r\n${host}Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n`
  upgrading.send(slow + websocket)
  await upgrading.until('upgraded')
  expect(upgrading.text()).toMatch(/^HTTP\/1\.1 200 OK.*<slow.*\r\n0\r\n\r\nupgraded$/s)
})

test('a header value with a line break is refused instead of written', async () => {
  const errors: unknown[] = []
  const { port } = await openFront((_, response) => {
    try {
      response.writeHead(200, { 'x-name': 'a\r\nset-cookie: b' })
    } catch (error) {
      errors.push(error)
      response.destroy()
    }
  })
  const { send, closed } = client(port)
  send(post(port, 'x'))
  await closed
  expect(String(errors[0])).toContain('printable ASCII')
})

test('a connection that sends nothing at first, or only a part, is served by node:http after two seconds', async () => {
  const { port } = await openFront()
  const silent = client(port)
  const slow = client(port)
  const bytes = post(port, 'late')
  slow.send(bytes.slice(0, -2))
  await sleep(3500)
  silent.send(post(port, 'late'))
  slow.send(bytes.slice(-2))
  await Promise.all([silent.until('node /mcp late'), slow.until('node /mcp late')])
})

test('an idle connection is closed after the time that the response named, and not before', async () => {
  const { port } = await openFront()
  const { send, until, closed } = client(port)
  send(post(port, 'x'))
  await until('Keep-Alive: timeout=10')
  await until('plain /mcp x')
  const idleAt = performance.now()
  await closed
  expect(performance.now() - idleAt).toBeGreaterThan(9_900)
}, 60_000)

test('on shutdown idle connections are closed at once, and a pending request gets its response first', async () => {
  let answer = () => {}
  const front = await openFront(async (request, response) => {
    if ((await bodyOf(request)) === 'slow') await new Promise<void>((resolve) => (answer = resolve))
    response.writeHead(200).end('answered')
  })
  const idle = client(front.port)
  idle.send(post(front.port, 'quick'))
  await idle.until('answered')
  const busy = client(front.port)
  busy.send(post(front.port, 'slow'))
  await expect.poll(() => answer.name).not.toBe('answer')
  const done = front.close()
  await idle.closed
  expect(busy.text()).toBe('')
  const answeredAt = performance.now()
  answer()
  await Promise.all([busy.until('answered'), busy.closed, done])
  expect(performance.now() - answeredAt).toBeLessThan(3000) // after 4 s all are closed
})

test('no request is read in another way than node:http reads it', async () => {
  const server = createServer({ requireHostHeader: false })
  /** What node:http reads first, or undefined if it refuses the bytes. */
  const byNode = (bytes: Buffer) =>
    new Promise<{ request: IncomingMessage; body: string } | undefined>((resolve) => {
      const wire = new Duplex({ read() {}, write: (_, __, done) => done() })
      server.once('request', (request: IncomingMessage) => {
        bodyOf(request).then(
          (body) => resolve({ request, body }),
          () => resolve(undefined),
        )
      })
      server.once('clientError', () => resolve(undefined))
      server.emit('connection', wire as unknown as Socket)
      wire.push(bytes)
      setTimeout(() => resolve(undefined), 2000).unref()
    })
  let plain = 0
  await fc.assert(
    fc.asyncProperty(requestText, async (text) => {
      const bytes = Buffer.from(text, 'latin1')
      const heads = new RequestHeads()
      const head = heads.read(bytes)
      if (!head || head.end !== bytes.length) return
      plain += 1
      server.removeAllListeners('request').removeAllListeners('clientError')
      const seen = await byNode(bytes)
      const body = bytes.toString('latin1', head.start)
      const { 'content-length': length, ...headers } = seen?.request.headers ?? {}
      expect({ url: seen?.request.url, headers, body: seen?.body, length: Number(length) }).toEqual({
        url: head.url,
        headers: { ...head.headers },
        body: Buffer.from(body, 'latin1').toString(),
        length: body.length,
      })
      expect(heads.read(bytes)).toEqual(head) // by comparison with the first
    }),
    { numRuns: runs(2000, 20_000), seed: 13 },
  )
  expect(plain).toBeGreaterThan(runs(200, 2000))
})

/** A plain request with up to two changes at random places. */
const requestText = fc
  .record({
    name: fc.constantFrom(
      'Accept',
      'mcp-session-id',
      'Authorization',
      'X-A',
      'Connection',
      'Transfer-Encoding',
      'Host',
    ),
    value: fc.constantFrom(
      'a',
      'keep-alive',
      'Keep-Alive',
      'close',
      'chunked',
      'b c',
      '',
      ' d ',
      'x: y',
      '12',
    ),
    body: fc.constantFrom('', '{}', '{"a":1}', 'GET / HTTP/1.1\r\n\r\n'),
    changes: fc.array(
      fc.record({
        at: fc.nat(160),
        cut: fc.nat(2),
        put: fc.constantFrom(
          '',
          ' ',
          '\t',
          '\r',
          '\n',
          '\r\n',
          '\0',
          ':',
          ',',
          '0',
          '1',
          '-',
          '+',
          '#',
          'é',
          'Content-Length: 3\r\n',
          '\x7f',
          '"',
          ';',
          '_',
        ),
      }),
      { maxLength: 2 },
    ),
  })
  .map(({ name, value, body, changes }) => {
    let text = `POST /mcp/a?b=1 HTTP/1.1\r\nHost: 127.0.0.1:1\r\n${name}: ${value}\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    for (const { at, cut, put } of changes) text = text.slice(0, at) + put + text.slice(at + cut)
    return text
  })

test.each([
  'Transfer-Encoding: chunked',
  'Expect: 100-continue',
  'Upgrade: h2c',
  'Trailer: X',
  'TE: trailers',
  'HTTP2-Settings: x',
])(
  'a request with %s is left to node:http, because it changes how a request is read or answered',
  (header) => {
    const bytes = (more: string) =>
      Buffer.from(`POST /mcp HTTP/1.1\r\nHost: a\r\n${more}Content-Length: 2\r\n\r\n{}`)
    expect(new RequestHeads().read(bytes(''))).toBeDefined()
    expect(new RequestHeads().read(bytes(`${header}\r\n`))).toBeUndefined()
  },
)

test('a client that expects 100 Continue gets it before it sends its body', async () => {
  const { port } = await openFront()
  const { send, until } = client(port)
  const [head = '', body = ''] = post(port, '{}', 'Expect: 100-continue\r\n').split(/(?<=\r\n\r\n)/)
  send(head)
  await until('HTTP/1.1 100 Continue')
  send(body)
  await until('node /mcp {}')
})
