import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { META, newKey } from '../../../test/support/gateway.ts'
import { AUTHORISED, openTestService, type TestService, TOKEN } from '../../../test/support/test-service.ts'

/** The status of one request with this credential. Undefined: without one. */
type Door = (service: TestService, credential: string | undefined) => Promise<number>

const withToken = (credential: string | undefined): Record<string, string> =>
  credential === undefined ? {} : { 'x-svc-token': credential }
const statusOf = async (service: TestService, path: string, options: RequestInit) =>
  (await fetch(service.address + path, options)).status

const toGateway =
  (header: (key: string) => Record<string, string>): Door =>
  (service, key) =>
    statusOf(service, '/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/list',
        ...(key !== undefined && header(key)),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta: META } }),
    })

const toWebSocket: Door = async (service, token) => {
  const protocols = token === undefined ? [] : [`toolroom.${token}`]
  const socket = new WebSocket(`${service.address.replace('http', 'ws')}/api/ws/metrics`, protocols)
  const refused = new Promise<number>((resolve) => {
    socket.on('unexpected-response', (_, { statusCode }: IncomingMessage) => resolve(statusCode ?? 0))
  })
  const status = await Promise.race([once(socket, 'open').then(() => 101), refused])
  socket.terminate()
  return status
}

/** The right credential is a new code. */
const toLogin: Door = async (service, credential) => {
  const headers = { ...AUTHORISED, 'content-type': 'application/json' }
  const issued = await fetch(`${service.address}/api/login-codes`, { method: 'POST', headers, body: '{}' })
  const { code } = (await issued.json()) as { code: string }
  return statusOf(service, '/api/login', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ code: credential === TOKEN ? code : credential }),
  })
}

const guessing = async (service: TestService) =>
  (await service.inject({ url: '/api/logs?source=audit', headers: AUTHORISED }))
    .json<{ items: { data: { action: string; subject: string } }[] }>()
    .items.filter(({ data }) => data.action === 'token_guessing')

/** The door, and the status for the right credential, a wrong one, and none. */
const DOORS: readonly [string, Door, number, number, number][] = [
  [
    'wrong tokens of a protected route',
    (service, token) => statusOf(service, '/api/keys', { headers: withToken(token) }),
    200,
    401,
    401,
  ],
  [
    'wrong tokens of a public route',
    (service, token) => statusOf(service, '/api/health', { headers: withToken(token) }),
    200,
    200,
    200,
  ],
  ['wrong tokens of the WebSocket', toWebSocket, 101, 401, 401],
  ['wrong gateway keys', toGateway((key) => ({ authorization: `Bearer ${key}` })), 200, 401, 401],
  ['wrong login codes', toLogin, 200, 401, 422],
  ['wrong gateway keys in the token header', toGateway((key) => ({ 'x-svc-token': key })), 200, 401, 401],
]

describe('guessing', () => {
  test.each(DOORS)(
    'after ten %s within a minute the next one waits 250 ms and is audited once, and the right one is accepted (case 12)',
    async (name, door, right, wrong, missing) => {
      const service = await openTestService({ env: { PROTECT_READS: 'true' } })
      const credential = name.startsWith('wrong gateway keys') ? await newKey(service) : TOKEN
      for (let n = 0; n < 15; n += 1) expect(await door(service, undefined)).toBe(missing)
      for (let n = 0; n < 10; n += 1) expect(await door(service, `${credential}x`)).toBe(wrong)
      expect(await guessing(service)).toEqual([])
      for (let n = 0; n < 2; n += 1) {
        const startedAt = performance.now()
        expect(await door(service, `${credential}x`)).toBe(wrong)
        expect(performance.now() - startedAt).toBeGreaterThan(240)
      }
      expect(await door(service, credential)).toBe(right)
      await expect.poll(() => guessing(service)).toMatchObject([{ data: { subject: '127.0.0.1' } }])
    },
  )

  test('wrong tokens, gateway keys and login codes of one address are counted together', async () => {
    const service = await openTestService({ env: { PROTECT_READS: 'true' } })
    for (const [, door] of DOORS) await door(service, 'wrong')
    for (let n = DOORS.length; n < 10; n += 1) await toLogin(service, 'wrong')
    expect(await guessing(service)).toEqual([])
    await toWebSocket(service, 'wrong')
    await expect.poll(() => guessing(service)).toHaveLength(1)
  })
})
