import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { AppError } from '../kernel/errors.ts'
import { Front } from './front.ts'

async function opened() {
  const front = new Front({
    allowedHosts: [],
    ownDoor: {
      takes: (url) => url === '/mcp',
      listener: (_, response) => void response.end('the gateway'),
    },
  })
  await front.listen('127.0.0.1', 0)
  onTestFinished(() => front.close())
  return { front, address: front.address('127.0.0.1') }
}

const textOf = async (url: string) => (await fetch(url)).text()
const refuse = () => new AppError('not_found', 'There is nothing to listen to')

test('the gateway answers before the app is there, and whoever wants the app waits for it', async () => {
  const { front, address } = await opened()
  const wanted = front.untilWanted(60_000)
  const early = textOf(`${address}/api/health`)
  expect(await textOf(`${address}/mcp`)).toBe('the gateway')
  await wanted
  front.serve((_, response) => void response.end('the app'), refuse)
  expect(await early).toBe('the app')
  expect(await textOf(`${address}/api/health`)).toBe('the app')
})

test('an upgrade that comes too early is answered when the app is there, also when it is refused', async () => {
  const { front, address } = await opened()
  const socket = new WebSocket(`${address.replace('http', 'ws')}/api/ws/metrics`)
  const refused = once(socket, 'unexpected-response')
  await front.untilWanted(60_000)
  front.serve((_, response) => void response.end(), refuse)
  const [, answer] = await refused
  expect(answer.statusCode).toBe(404)
  socket.on('error', () => {}).terminate()
})

test('where nobody wants more, waiting ends by itself; a foreign host does not get in early either', async () => {
  const { front, address } = await opened()
  const { port } = new URL(address)
  expect(
    (await fetch(`http://127.0.0.1:${port}/mcp`, { headers: { origin: 'https://evil.example' } })).status,
  ).toBe(403)
  await front.untilWanted(10)
})
