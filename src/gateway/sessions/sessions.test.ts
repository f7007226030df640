import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { askSession } from './ask-session.ts'
import { KeptBytes, type Session, Sessions } from './sessions.ts'

const DAY_MS = 24 * 3_600_000
const EVENTS = { onNote: () => {}, onStarted: () => undefined }

/** Sessions, and a clock that the test moves. */
function openSessions() {
  const clock = { now: 0 }
  const sessions = new Sessions(
    () => clock.now,
    () => {},
    new KeptBytes(),
  )
  const open = (keyId: string, serverId?: string, capabilities: object = {}): Session => {
    const profile = {
      capabilities: { ...capabilities },
      clientInfo: undefined,
      protocolVersion: '2025-06-18',
    }
    return sessions.open({ keyId, agentType: 'cursor', serverId, version: '2025-06-18', profile }, 0, EVENTS)
  }
  return { sessions, clock, open, ids: () => [...sessions.all].map(({ id }) => id) }
}

const accessOf = ({ keyId, agentType, serverId }: Session) => ({ keyId, agentType, serverId })

/** A response whose client the test can disconnect. */
async function connected() {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const gone = new AbortController()
  const { port } = server.address() as AddressInfo
  void fetch(`http://127.0.0.1:${port}`, { signal: gone.signal }).catch(() => {})
  const [, response] = (await once(server, 'request')) as [unknown, ServerResponse]
  return { response, disconnect: () => gone.abort() }
}

test('a session is found with the key that opened it and at the endpoint where it was opened, and nowhere else', () => {
  const { sessions, open } = openSessions()
  const [all, one] = [open('key_1'), open('key_1', 'github')]
  expect(sessions.find(all.id, accessOf(all))).toBe(all)
  expect(sessions.find(one.id, accessOf(one))).toBe(one)
  for (const other of [{ keyId: 'key_2' }, { serverId: 'github' }, { serverId: 'docs' }])
    expect(sessions.find(all.id, { ...accessOf(all), ...other }), JSON.stringify(other)).toBeUndefined()
  for (const other of [{ keyId: 'key_2' }, { serverId: undefined }, { serverId: 'docs' }])
    expect(sessions.find(one.id, { ...accessOf(one), ...other }), JSON.stringify(other)).toBeUndefined()
})

test('when a key is deleted, its sessions end and those of other keys go on', () => {
  const { sessions, open, ids } = openSessions()
  const [one, other, third] = [open('key_1'), open('key_2'), open('key_1')]
  const ended: string[] = []
  for (const session of [one, other, third]) session.onEnd.push(() => ended.push(session.id))
  sessions.close('key_1')
  expect([ended, ids()]).toEqual([[one.id, third.id], [other.id]])
  sessions.close()
  expect(ids()).toEqual([])
})

test('a session that was not used for a day ends when another one is opened, unless a call is pending in it', () => {
  const { clock, open, ids } = openSessions()
  const [idle, busy] = [open('key_1'), open('key_1')]
  busy.pending.add(1, { cancel: () => {}, notify: () => {} })
  clock.now = DAY_MS
  const second = open('key_1')
  expect(ids()).toEqual([idle.id, busy.id, second.id])
  clock.now = DAY_MS + 1
  const third = open('key_1')
  expect(ids()).toEqual([busy.id, second.id, third.id])
})

test('of 101 sessions of a key the one that was not used for longest ends, a busy one last', () => {
  const { sessions, clock, open, ids } = openSessions()
  const other = open('key_2')
  const busy = open('key_1')
  busy.pending.add(1, { cancel: () => {}, notify: () => {} })
  const own = Array.from({ length: 99 }, () => {
    clock.now += 1
    return open('key_1')
  })
  clock.now += 1
  const [first, second] = own
  sessions.find(first?.id ?? '', { keyId: 'key_1', agentType: 'cursor', serverId: undefined })
  open('key_1')
  expect(ids()).not.toContain(second?.id)
  expect(ids()).toEqual(expect.arrayContaining([other.id, busy.id, first?.id]))
  expect(ids()).toHaveLength(101)
})

test('an agent whose stream is lost is not asked: the server gets an error at once, and not after the time that a person may take', async () => {
  const { open } = openSessions()
  const session = open('key_1', undefined, { roots: {} })
  const { response, disconnect } = await connected()
  session.streams.listen(response)
  const stream = session.streams.getStream ?? expect.unreachable()
  const { response: answer } = askSession(session, stream, 'roots/list', {})
  session.serverRequests.get([...session.serverRequests.keys()][0] ?? '')?.({ result: { roots: [] } })
  expect(await answer).toEqual({ roots: [] })
  disconnect()
  await expect.poll(() => stream.isConnected).toBe(false)
  stream.isLost = true // after 10 s without another connection
  expect(() => askSession(session, stream, 'roots/list', {})).toThrow('The agent has disconnected')
  expect(session.serverRequests.size).toBe(0)
})
