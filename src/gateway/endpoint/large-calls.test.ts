import fc from 'fast-check'
import { expect, test } from 'vitest'
import { openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'
import type { NewKey } from '../keys/keys.schema.ts'

const LARGE = 'y'.repeat(9000)

async function mirrorHouse(args: readonly string[] = []) {
  const house = await openHouse()
  await register(house, 'mirror', args)
  await post(house, '/api/servers/mirror/start')
  const { key } = (await post(house, '/api/keys', { agent_type: 'cursor' })).json<NewKey>()
  const send = (body: string | Buffer, session?: string) =>
    fetch(`${house.address}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body,
    })
  const hello = await send(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    }),
  )
  const session = hello.headers.get('mcp-session-id') ?? ''
  /** What the server understood. */
  const understood = async (body: string | Buffer) => {
    const { id, result } = (await (await send(body, session)).json()) as {
      id: unknown
      result: { content: { text: string }[] }
    }
    return { id, params: JSON.parse(result.content[0]?.text ?? '') as { name: string; arguments: object } }
  }
  return { house, send: (body: string) => send(body, session), understood }
}

const call = (args: unknown, id: unknown = 0) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'mirror__mirror', arguments: args },
})

test('arguments of any size and any layout reach the server as they were meant', async () => {
  const { understood } = await mirrorHouse()
  const layouts = fc.constantFrom(undefined, 1, '\t', '\r\n', '\n')
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), layouts, fc.boolean(), async (value, layout, large) => {
      const args = large ? { value, filling: LARGE } : { value }
      const { id, params } = await understood(JSON.stringify(call(args, 7), null, layout))
      expect(id).toBe(7)
      expect(params).toEqual({ name: 'mirror', arguments: JSON.parse(JSON.stringify(args)) })
    }),
    { numRuns: 200 },
  )
})

test.each([
  ['small', ''],
  ['large', LARGE],
])(
  'a %s call in which a name comes twice means the last, and the server hears of one only',
  async (_, filling) => {
    const { understood } = await mirrorHouse()
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other__tool","arguments":{"a":1},"name":"mirror__mirror","arguments":{"b":2,"filling":"${filling}"}}}`
    expect((await understood(body)).params).toEqual({ name: 'mirror', arguments: { b: 2, filling } })
  },
)

test.each([
  ['small', ''],
  ['large', LARGE],
])('a %s call with bytes that are no text is mended before a server reads it', async (_, filling) => {
  const { understood } = await mirrorHouse()
  const [before, after] = JSON.stringify(call({ word: 'HERE', filling })).split('HERE')
  const body = Buffer.concat([Buffer.from(before ?? ''), Buffer.from([0xff]), Buffer.from(after ?? '')])
  expect((await understood(body)).params.arguments).toEqual({ word: '\ufffd', filling })
})

test('a large result comes as it is, and is a failure only when it says so', async () => {
  const { house, send } = await mirrorHouse(['--pad=100000'])
  const reply = await send(JSON.stringify(call({ a: 1 })))
  const { result } = (await reply.json()) as { result: { structuredContent: { pad: string } } }
  expect(result.structuredContent.pad).toHaveLength(100_000)
  const summary = (await house.inject('/api/metrics/summary')).json<{ calls: object }>()
  expect(summary.calls).toMatchObject({ total: 1, ok: 1, error: 0 })
})

test('a large result that says it is an error is one', async () => {
  const { house, send } = await mirrorHouse(['--pad=100000', '--error'])
  expect(await (await send(JSON.stringify(call({})))).json()).toMatchObject({ result: { isError: true } })
  const summary = (await house.inject('/api/metrics/summary')).json<{ calls: object }>()
  expect(summary.calls).toMatchObject({ total: 1, ok: 0, error: 1 })
})
