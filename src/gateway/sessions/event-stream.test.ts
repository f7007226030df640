import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Exchange } from '../../../test/support/event-streams.ts'
import { DropCounter, EventStream, ReplayBuffers } from './event-stream.ts'

/** Opens connections: the response that a stream writes to, and the client that reads it. */
async function connections() {
  const responses: ServerResponse[] = []
  const server = createServer((_, response) => void responses.push(response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return async () => {
    const client = new Exchange(url, { method: 'GET' })
    await expect.poll(() => responses.length).toBe(1)
    return { client, response: responses.pop() as ServerResponse }
  }
}

test('a stream is lost when the client does not reconnect in time, and continues when it reconnects later', async () => {
  const connect = await connections()
  const first = await connect()
  const replay = { log: new ReplayBuffers().open(), number: 1, primes: false }
  const stream = new EventStream(first.response, new DropCounter(() => {}), replay, 50)
  let losses = 0
  stream.onLost = () => {
    losses += 1
  }
  stream.send('"one"')
  await expect.poll(() => first.client.events).toHaveLength(1)
  first.client.disconnect()
  await expect.poll(() => losses).toBe(1)
  expect([stream.isLost, stream.isConnected]).toEqual([true, false])
  stream.send('"two"')
  const second = await connect()
  stream.resume(second.response, 1)
  expect([stream.isLost, stream.isConnected]).toEqual([false, true])
  stream.end('"three"')
  await second.client.closed()
  expect(second.client.messages).toEqual(['two', 'three'])
  expect(losses).toBe(1)
})
