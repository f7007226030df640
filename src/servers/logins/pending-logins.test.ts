import { expect, test } from 'vitest'
import { type PendingLogin, PendingLogins } from './pending-logins.ts'

const MINUTE_MS = 60_000

/** Only what the list of pending logins looks at. */
const pendingAt = (server_id: string, expires_at: number) =>
  ({ server_id, state: `state-of-${server_id}`, expires_at }) as PendingLogin

test('a start page works for 10 minutes after it was last given out, and no longer (docs/login.md)', () => {
  let now = 0
  const logins = new PendingLogins(() => now)
  const first = logins.ticketOf('linear', 'anyone')
  expect(first.expires_at).toBe(10 * MINUTE_MS)
  now = 9 * MINUTE_MS
  expect(logins.ticketOf('linear', 'anyone')).toEqual({ ticket: first.ticket, expires_at: 19 * MINUTE_MS })
  now = 19 * MINUTE_MS - 1
  expect(logins.holderOf(first.ticket)?.serverId).toBe('linear')
  now += 1
  expect(logins.holderOf(first.ticket)).toBeUndefined()
  expect(logins.ticketOf('linear', 'anyone').ticket).not.toBe(first.ticket)
  expect(logins.holderOf(first.ticket)).toBeUndefined()
})

test('64 logins wait for a browser at most; another one is refused until one of them is cancelled or late', () => {
  let now = 0
  const logins = new PendingLogins(() => now)
  for (let n = 0; n < 64; n += 1) logins.add(pendingAt(`server-${n}`, n === 0 ? 1000 : 2000))
  const another = pendingAt('another', 2000)
  expect(() => logins.add(another)).toThrow('64 logins are waiting for a browser')
  logins.add(pendingAt('server-7', 2000)) // it takes the place of its own
  logins.cancel('server-7')
  logins.add(another)
  expect(() => logins.add(pendingAt('server-7', 2000))).toThrow('64 logins are waiting')
  now = 1000
  expect(logins.byState('state-of-server-0')).toBeUndefined()
  logins.add(pendingAt('server-7', 3000))
  expect(logins.of('another')).toEqual(another)
})
