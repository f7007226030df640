import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { Exchange } from '../../../test/support/event-streams.ts'
import { DropCounter } from '../notify/drop-counter.ts'
import { EventStream } from './event-stream.ts'
import { ReplayLogs } from './replay-log.ts'

/** Connections with their two ends: what the stream writes to, and who hears it. */
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
    const heard = new Exchange(url, { method: 'GET' })
    await expect.poll(() => responses.length).toBe(1)
    return { heard, response: responses.pop() as ServerResponse }
  }
}

test('a stream is lost when its agent stays away, and no more when it comes back', async () => {
  const connect = await connections()
  const first = await connect()
  const numbered = { log: new ReplayLogs().open(), number: 1, primes: false }
  const stream = new EventStream(first.response, new DropCounter(1000, () => {}), numbered, 50)
  let losses = 0
  stream.onLost = () => {
    losses += 1
  }
  stream.send('"one"')
  await expect.poll(() => first.heard.events).toHaveLength(1)
  first.heard.break()
  await expect.poll(() => losses).toBe(1)
  expect([stream.isLost, stream.isConnected]).toEqual([true, false])
  stream.send('"two"')
  const second = await connect()
  stream.resume(second.response, 1)
  expect([stream.isLost, stream.isConnected]).toEqual([false, true])
  stream.end('"three"')
  await second.heard.over()
  expect(second.heard.messages).toEqual(['two', 'three'])
  expect(losses).toBe(1)
})
