import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test, vi } from 'vitest'
import { WebSocket, WebSocketServer } from 'ws'
import type { LiveState } from '../../web/src/data/live/connection.ts'

/** A service that sends one snapshot on each connection, and then nothing. */
async function openSilent() {
  const server = new WebSocketServer({ port: 0, host: '127.0.0.1', handleProtocols: () => false })
  const end = () => {
    for (const client of server.clients) client.terminate()
    server.close()
  }
  const seen = { connections: 0, say: () => {} }
  server.on('connection', (socket) => {
    seen.connections += 1
    seen.say = () => socket.send('{"type":"metrics","data":{}}')
    socket.send('{"type":"snapshot","data":{}}')
  })
  await once(server, 'listening')
  return { origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, seen, end }
}

/** The connection of a page of this service, whose time the test moves. */
async function openPage(origin: string) {
  const empty = { getItem: () => null }
  const page = {
    addEventListener: () => {},
    querySelector: () => null,
    location: { origin },
    sessionStorage: empty,
    WebSocket,
  }
  for (const [name, value] of Object.entries({ ...page, document: page })) vi.stubGlobal(name, value)
  onTestFinished(() => void vi.unstubAllGlobals())
  const { LiveConnection } = await import('../../web/src/data/live/connection.ts')
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const states: LiveState['state'][] = []
  const gaps = { count: 0 }
  const connection = new LiveConnection({
    onMessage: () => {},
    lastEvent: 0,
    onGap: () => (gaps.count += 1),
    onState: ({ state }) => states.push(state),
  })
  connection.retry()
  return { states, gaps }
}

/** Waits in real time, which the fake timers of the page do not move. */
async function until(isTrue: () => boolean): Promise<void> {
  for (let turn = 0; turn < 1_000_000 && !isTrue(); turn += 1) await new Promise(setImmediate)
  expect(isTrue()).toBe(true)
}

test('a connection that is silent for 10 s is dead: the page says that the service is gone, connects again, and reads what it missed', async () => {
  const { origin, seen, end } = await openSilent()
  const { states, gaps } = await openPage(origin)
  onTestFinished(async () => {
    end()
    await until(() => states.at(-1) === 'gone') // while its timers stand still
  })
  await until(() => states.at(-1) === 'live')
  vi.advanceTimersByTime(9000)
  seen.say()
  await until(() => seen.connections === 1)
  expect(states).toEqual(['live'])
  vi.advanceTimersByTime(12_000)
  expect(states).toEqual(['live', 'gone'])
  vi.advanceTimersByTime(1000)
  await until(() => states.at(-1) === 'live')
  expect([seen.connections, gaps.count]).toEqual([2, 1])
})
