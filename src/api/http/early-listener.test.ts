import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { AppError } from '../../kernel/errors.ts'
import { EarlyListener } from './early-listener.ts'
import { LaterRoute } from './listener.ts'

async function openFront() {
  const front = new EarlyListener({
    allowedHosts: [],
    gateway: {
      takes: (url) => url === '/mcp',
      opens: () => true,
      listener: (_, response) => void response.end('the gateway'),
    },
  })
  await front.listen('127.0.0.1', 0)
  onTestFinished(() => front.close())
  return { front, address: front.address('127.0.0.1') }
}

const textOf = async (url: string) => (await fetch(url)).text()
const refuse = () => new AppError('not_found', 'This is not a WebSocket endpoint')

test('the gateway answers before the API is built, and requests to the API wait for it', async () => {
  const { front, address } = await openFront()
  const early = textOf(`${address}/api/health`)
  expect(await textOf(`${address}/mcp`)).toBe('the gateway')
  await front.requested
  front.serve((_, response) => void response.end('the app'), refuse)
  expect(await early).toBe('the app')
  expect(await textOf(`${address}/api/health`)).toBe('the app')
})

test('a request for the gateway waits until its route is open, plain or not, and is then answered', async () => {
  const route = new LaterRoute((url) => url === '/mcp')
  const front = new EarlyListener({ allowedHosts: [], gateway: route })
  await front.listen('127.0.0.1', 0)
  onTestFinished(() => front.close())
  const url = `${front.address('127.0.0.1')}/mcp`
  let answered = 0
  const asked = [fetch(url, { method: 'POST', body: 'a call' }), fetch(url)].map(async (response) => {
    const text = await (await response).text()
    answered += 1
    return text
  })
  await sleep(50)
  expect(answered).toBe(0)
  route.open({ listener: (request, response) => void response.end(request.method), opens: () => true })
  expect(await Promise.all(asked)).toEqual(['POST', 'GET'])
  expect(await (await fetch(url)).text()).toBe('GET')
})

test('an upgrade before the API is built waits for it, even if it is then refused', async () => {
  const { front, address } = await openFront()
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
  const refused = once(socket, 'unexpected-response')
  await front.requested
  front.serve((_, response) => void response.end(), refuse)
  const [, answer] = await refused
  expect(answer.statusCode).toBe(404)
  socket.on('error', () => {}).terminate()
})

test('the gate also protects the gateway before the API is built, and such a request does not ask for the API', async () => {
  const { front, address } = await openFront()
  const { port } = new URL(address)
  expect(
    (await fetch(`http://127.0.0.1:${port}/mcp`, { headers: { origin: 'https://evil.example' } })).status,
  ).toBe(403)
  expect(await Promise.race([front.requested, sleep(10, 'not requested')])).toBe('not requested')
})
