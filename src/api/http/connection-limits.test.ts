import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { limitConnections } from './connection-limits.ts'
import { EarlyListener } from './early-listener.ts'

const MIB = 1024 * 1024
const NEVER_READING = 1120
const DEFAULTS = { connections: 512, reserve: 64, unreadMs: 30_000, unreadBytes: 64 * MIB }

/** Over a Unix socket, because the operating system buffers 4 MB for each connection over TCP. */
async function openServer(limits = DEFAULTS) {
  const path = join(ownFolder(), 'socket')
  const handlers: Record<string, (response: ServerResponse) => void> = {
    '/health': (response) => response.end('ok'),
    '/endless': endless,
    '/large': (response) => response.end(Buffer.alloc(2 * MIB)),
    '/later': (response) => void setTimeout(() => response.end('late'), 2 * limits.unreadMs).unref(),
  }
  const server = createServer((request, response) => handlers[request.url ?? '']?.(response))
  limitConnections(server, limits)
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => void server.listen(path, resolve))
  /** Watches the server's side, because a client that does not read does not notice that its connection was closed. */
  const request = async (url: string) => {
    const connected = once(server, 'connection') as Promise<[Socket]>
    const socket = connect(path)
    onTestFinished(() => void socket.destroy())
    socket.on('error', () => {}) // the server closes the connection
    socket.write(`GET ${url} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
    const [served] = await connected
    return { socket, isOpen: () => sockets.has(served), received: 0 }
  }
  const reading = async (url: string) => {
    const client = await request(url)
    client.socket.on('data', ({ length }) => {
      client.received += length
    })
    return client
  }
  const neverReading = async (url: string) => {
    const client = await request(url)
    client.socket.pause()
    return client
  }
  /** True when a new client gets its response. */
  const answers = async () => {
    const client = await reading('/health')
    await expect.poll(() => client.received > 0 || !client.isOpen(), { timeout: 30_000 }).toBe(true)
    client.socket.destroy()
    return client.received > 0
  }
  const unreadBytes = () => [...sockets].reduce((sum, { writableLength }) => sum + writableLength, 0)
  return { reading, neverReading, answers, unreadBytes, sockets }
}

/** Sends as much as the client reads. */
function endless(response: ServerResponse): void {
  const part = Buffer.alloc(16 * 1024)
  const write = () => {
    while (!response.destroyed && response.write(part));
  }
  response.on('drain', write)
  write()
}

test(`${NEVER_READING} connections whose clients never read lock out no other client, and at most 513 stay open (R13)`, async () => {
  const { neverReading, answers, sockets } = await openServer()
  for (let n = 0; n < NEVER_READING; n += 1) {
    await neverReading('/endless')
    if (n % 40 > 0) continue
    await sleep(20) // a connection that was closed for this one is gone
    expect(sockets.size).toBeLessThanOrEqual(513)
    expect(await answers(), `after ${n} connections`).toBe(true)
  }
  expect(await answers()).toBe(true)
})

test('beyond the maximum an idle connection is closed before one whose client does not read', async () => {
  const { neverReading, reading, answers } = await openServer({ ...DEFAULTS, connections: 3 })
  const slow = await neverReading('/endless')
  const idle = await reading('/health')
  await expect.poll(() => idle.received).toBeGreaterThan(0)
  await neverReading('/endless')
  expect(await answers()).toBe(true)
  expect([slow.isOpen(), idle.isOpen()]).toEqual([true, false])
})

test('a client that never reads is disconnected after the limit, and one that reads slowly or waits for its response is not', async () => {
  const { neverReading, reading } = await openServer({ ...DEFAULTS, unreadMs: 4000 })
  const slow = await reading('/endless')
  const waiting = await reading('/later')
  const drip = setInterval(() => {
    slow.socket.resume()
    setTimeout(() => slow.socket.pause(), 10)
  }, 300)
  onTestFinished(() => clearInterval(drip))
  const never = await neverReading('/endless')
  await expect.poll(() => never.isOpen(), { timeout: 30_000 }).toBe(false)
  await expect.poll(() => waiting.received, { timeout: 30_000 }).toBeGreaterThan(0)
  expect(slow.isOpen()).toBe(true)
})

test('clients leave at most 64 MiB unread together: those that have not read for the longest time are disconnected', async () => {
  const { neverReading, unreadBytes, answers } = await openServer()
  const clients = []
  for (let n = 0; n < 50; n += 1) clients.push(await neverReading('/large'))
  await expect.poll(unreadBytes, { timeout: 30_000 }).toBeLessThanOrEqual(64 * MIB)
  const open = clients.map(({ isOpen }) => isOpen())
  expect(open.filter(Boolean).length).toBeGreaterThan(25)
  expect([open[0], open.at(-1)]).toEqual([false, true])
  expect(await answers()).toBe(true)
})

describe('connections that do not complete their request', () => {
  const HEALTH = 'GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const isOk = (text: string) => text.includes(' 200 ')

  /** Over TCP, because the reserve is for addresses of this computer. */
  async function openFront(waiting = 30_000) {
    const front = new EarlyListener({ allowedHosts: ['localhost'] })
    front.serve(
      (request, response) => {
        if (request.url === '/wait') setTimeout(() => response.end('late'), waiting).unref()
        else if (request.method === 'GET') response.end('ok')
      },
      () => undefined,
    )
    await front.listen('127.0.0.1', 0)
    onTestFinished(() => {
      front.server.closeAllConnections()
      return front.close()
    })
    const send = (text: string) => {
      const socket = connect({ port: front.port, host: '127.0.0.1' })
      onTestFinished(() => void socket.destroy())
      const seen = { text: '' }
      socket.on('error', () => {}) // the server closes the connection
      socket.on('data', (part) => {
        seen.text += part.toString()
      })
      socket.write(text)
      return { socket, seen }
    }
    const answerTo = async (text: string) => {
      const { socket, seen } = send(text)
      await expect
        .poll(() => seen.text !== '' || socket.destroyed, { timeout: 20_000, interval: 5 })
        .toBe(true)
      socket.destroy()
      return seen.text
    }
    return { front, send, answerTo }
  }

  test.each([
    ['a length', 'Content-Length: 100\r\n\r\n'],
    ['chunks', 'Transfer-Encoding: chunked\r\n\r\n'],
    ['a part of the body', 'Content-Length: 100\r\n\r\nx'],
    ['an expectation', 'Expect: 100-continue\r\nContent-Length: 100\r\n\r\n'],
  ])(
    '1,050 connections that send a head with %s and no complete body do not lock out a health check',
    async (_, rest) => {
      const { send, answerTo } = await openFront()
      for (let n = 0; n < 1050; n += 1) {
        send(`POST /api/login HTTP/1.1\r\nHost: localhost\r\n${rest}`)
        if (n % 3 === 0) await sleep(1) // each is read before the next ones arrive
        if (n % 150 === 149) expect(isOk(await answerTo(HEALTH)), `after ${n + 1}`).toBe(true)
      }
      for (let n = 0; n < 5; n += 1) expect(isOk(await answerTo(HEALTH))).toBe(true)
    },
  )

  test('when all connections wait for their responses, another request gets 503, and a health check and the dashboard are served', async () => {
    const { send, answerTo, front } = await openFront()
    for (let n = 0; n < 520; n += 1) {
      send('GET /wait HTTP/1.1\r\nHost: localhost\r\n\r\n')
      if (n % 3 === 0) await sleep(1)
    }
    const refused = await answerTo('GET /other HTTP/1.1\r\nHost: localhost\r\n\r\n')
    expect(refused).toMatch(/^HTTP\/1\.1 503 .*retry-after: 5.*"code":"too_many_clients"/is)
    expect(isOk(await answerTo(HEALTH))).toBe(true)
    const own = `Origin: http://localhost:${front.port}\r\n`
    expect(isOk(await answerTo(`GET /api/servers HTTP/1.1\r\nHost: localhost\r\n${own}\r\n`))).toBe(true)
  })
})
