import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { describe, expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { META, newKey } from '../../../test/support/gateway.ts'
import { AUTHORISED, type House, openHouse, TOKEN } from '../../../test/support/house.ts'

/** The status of one request with this credential. Undefined: without one. */
type Door = (house: House, credential: string | undefined) => Promise<number>

const withToken = (credential: string | undefined): Record<string, string> =>
  credential === undefined ? {} : { 'x-svc-token': credential }
const statusOf = async (house: House, path: string, options: RequestInit) =>
  (await fetch(house.address + path, options)).status

const toGateway =
  (header: (key: string) => Record<string, string>): Door =>
  (house, key) =>
    statusOf(house, '/mcp', {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/list',
        ...(key !== undefined && header(key)),
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'tools/list', params: { _meta: META } }),
    })

const toWebSocket: Door = async (house, token) => {
  const protocols = token === undefined ? [] : [`toolroom.${token}`]
  const socket = new WebSocket(`${house.address.replace('http', 'ws')}/api/ws/metrics`, protocols)
  const refused = new Promise<number>((resolve) => {
    socket.on('unexpected-response', (_, { statusCode }: IncomingMessage) => resolve(statusCode ?? 0))
  })
  const status = await Promise.race([once(socket, 'open').then(() => 101), refused])
  socket.terminate()
  return status
}

const guessing = async (house: House) =>
  (await house.inject({ url: '/api/logs?source=audit', headers: AUTHORISED }))
    .json<{ items: { data: { action: string; subject: string } }[] }>()
    .items.filter(({ data }) => data.action === 'token_guessing')

/** The door, and the status for the right credential, a wrong one, and none. */
const DOORS: readonly [string, Door, number, number, number][] = [
  [
    'wrong tokens of a protected route',
    (house, token) => statusOf(house, '/api/keys', { headers: withToken(token) }),
    200,
    401,
    401,
  ],
  [
    'wrong tokens of a public route',
    (house, token) => statusOf(house, '/api/health', { headers: withToken(token) }),
    200,
    200,
    200,
  ],
  ['wrong tokens of the WebSocket', toWebSocket, 101, 401, 401],
  ['wrong gateway keys', toGateway((key) => ({ authorization: `Bearer ${key}` })), 200, 401, 401],
  ['wrong gateway keys in the token header', toGateway((key) => ({ 'x-svc-token': key })), 200, 401, 401],
]

describe('guessing', () => {
  test.each(DOORS)(
    'after ten %s within a minute the next one waits 250 ms and is audited once, and the right one is accepted (case 12)',
    async (_, door, right, wrong, missing) => {
      const house = await openHouse({ env: { PROTECT_READS: 'true' } })
      const credential = door === DOORS[3]?.[1] || door === DOORS[4]?.[1] ? await newKey(house) : TOKEN
      for (let n = 0; n < 15; n += 1) expect(await door(house, undefined)).toBe(missing)
      for (let n = 0; n < 10; n += 1) expect(await door(house, `${credential}x`)).toBe(wrong)
      expect(await guessing(house)).toEqual([])
      for (let n = 0; n < 2; n += 1) {
        const startedAt = performance.now()
        expect(await door(house, `${credential}x`)).toBe(wrong)
        expect(performance.now() - startedAt).toBeGreaterThan(240)
      }
      expect(await door(house, credential)).toBe(right)
      await expect.poll(() => guessing(house)).toMatchObject([{ data: { subject: '127.0.0.1' } }])
    },
  )

  test('wrong tokens and wrong gateway keys of one address are counted together', async () => {
    const house = await openHouse({ env: { PROTECT_READS: 'true' } })
    for (const [, door] of DOORS) for (let n = 0; n < 2; n += 1) await door(house, 'wrong')
    expect(await guessing(house)).toEqual([])
    await toWebSocket(house, 'wrong')
    await expect.poll(() => guessing(house)).toHaveLength(1)
  })
})
