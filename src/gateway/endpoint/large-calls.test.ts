import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService } from '../../../test/support/test-service.ts'
import type { NewKey } from '../keys/keys.schema.ts'

const LARGE = 'y'.repeat(9000)

async function setUp(args: readonly string[] = []) {
  const service = await openTestService()
  await register(service, 'mirror', args)
  await post(service, '/api/servers/mirror/start')
  const { key } = (await post(service, '/api/keys', { agent_type: 'cursor' })).json<NewKey>()
  const send = (body: string | Buffer, session?: string) =>
    fetch(`${service.address}/mcp`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        authorization: `Bearer ${key}`,
        ...(session !== undefined && { 'mcp-session-id': session }),
      },
      body,
    })
  const initialized = await send(
    JSON.stringify({
      jsonrpc: '2.0',
      id: 0,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25' },
    }),
  )
  const session = initialized.headers.get('mcp-session-id') ?? ''
  /** The id of the response, and the params that the server received. */
  const receivedParams = async (body: string | Buffer) => {
    const { id, result } = (await (await send(body, session)).json()) as {
      id: unknown
      result: { content: { text: string }[] }
    }
    return { id, params: JSON.parse(result.content[0]?.text ?? '') as { name: string; arguments: object } }
  }
  return { service, send: (body: string) => send(body, session), receivedParams }
}

const shared = sharedByTests(() => setUp())

const call = (args: unknown, id: unknown = 0) => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name: 'mirror__mirror', arguments: args },
})

test('arguments of any size and any JSON layout reach the server unchanged', async () => {
  const { receivedParams } = await shared()
  const layouts = fc.constantFrom(undefined, 1, '\t', '\r\n', '\n')
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), layouts, fc.boolean(), async (value, layout, large) => {
      const args = large ? { value, padding: LARGE } : { value }
      const { id, params } = await receivedParams(JSON.stringify(call(args, 7), null, layout))
      expect(id).toBe(7)
      expect(params).toEqual({ name: 'mirror', arguments: JSON.parse(JSON.stringify(args)) })
    }),
    { numRuns: runs(30, 200) },
  )
})

test.each([
  ['small', ''],
  ['large', LARGE],
])(
  'in a %s call with duplicate keys the last one wins, and the server receives only that one',
  async (_, padding) => {
    const { receivedParams } = await shared()
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"other__tool","arguments":{"a":1},"name":"mirror__mirror","arguments":{"b":2,"padding":"${padding}"}}}`
    expect((await receivedParams(body)).params).toEqual({ name: 'mirror', arguments: { b: 2, padding } })
  },
)

test.each([
  ['small', ''],
  ['large', LARGE],
])('invalid UTF-8 in a %s call is replaced before the server receives it', async (_, padding) => {
  const { receivedParams } = await shared()
  const [before, after] = JSON.stringify(call({ word: 'HERE', padding })).split('HERE')
  const body = Buffer.concat([Buffer.from(before ?? ''), Buffer.from([0xff]), Buffer.from(after ?? '')])
  expect((await receivedParams(body)).params.arguments).toEqual({ word: '\ufffd', padding })
})

test('a large result reaches the agent unchanged and counts as a success', async () => {
  const { service, send } = await setUp(['--pad=100000'])
  const reply = await send(JSON.stringify(call({ a: 1 })))
  const { result } = (await reply.json()) as { result: { structuredContent: { pad: string } } }
  expect(result.structuredContent.pad).toHaveLength(100_000)
  const summary = (await service.inject('/api/metrics/summary')).json<{ calls: object }>()
  expect(summary.calls).toMatchObject({ total: 1, ok: 1, error: 0 })
})

test('a large result with isError counts as an error', async () => {
  const { service, send } = await setUp(['--pad=100000', '--error'])
  expect(await (await send(JSON.stringify(call({})))).json()).toMatchObject({ result: { isError: true } })
  const summary = (await service.inject('/api/metrics/summary')).json<{ calls: object }>()
  expect(summary.calls).toMatchObject({ total: 1, ok: 0, error: 1 })
})
