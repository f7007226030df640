import { describe, expect, test } from 'vitest'
import { Agent, type Era, META, newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService } from '../../../test/support/test-service.ts'

const ERAS: readonly Era[] = ['legacy', 'modern']

async function setUp(era: Era) {
  const service = await openTestService()
  await register(service, 'echo')
  await post(service, '/api/servers/echo/start')
  const agent = await Agent.open(service, await newKey(service), era)
  const isModern = era === 'modern'
  /** Sends a message as it is. */
  const send = async (body: string, method = 'tools/call', name = 'echo__echo') => {
    const reply = await agent.send(body, method, name)
    return { status: reply.status, text: await reply.text() }
  }
  const meta = isModern ? `,"_meta":${JSON.stringify(META)}` : ''
  const call = (id: string, tool = 'echo', args = '{"text":"hi"}') =>
    `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"echo__${tool}","arguments":${args}${meta}}}`
  return { service, agent, send, call, meta }
}

describe.each(ERAS)('the id of a request of a %s agent', (era) => {
  test('comes back as it was written, in results and in errors, whatever its digits and escapes (bytes are bytes)', async () => {
    const { send, call } = await setUp(era)
    const ids = [
      '9007199254740993',
      '-9007199254740993',
      '1.0',
      '1E2',
      '-0',
      '0.10',
      '12345678901234567890',
      '0',
    ]
    for (const id of [...ids, '"\\u0061b"', '"é🎈"', '""']) {
      expect((await send(call(id))).text).toMatch(`{"jsonrpc":"2.0","id":${id},"result":{`)
      const unknown = await send(call(id, 'unknown'), 'tools/call', 'echo__unknown')
      expect(unknown.text).toMatch(`{"jsonrpc":"2.0","id":${id},"error":{"code":-32602`)
    }
  })

  test('is refused when it is no finite number, and the answer is valid JSON without an id (bytes are bytes)', async () => {
    const { send, call } = await setUp(era)
    for (const id of ['1e400', '-1e400', 'null', '{}', 'true']) {
      const { status, text } = await send(call(id))
      expect(status).toBe(400)
      expect(JSON.parse(text)).toEqual({
        jsonrpc: '2.0',
        id: null,
        error: { code: -32_600, message: 'The id must be a string or a finite number' },
      })
    }
  })

  test('is in the error for params that are null, a list or no object at all (bytes are bytes)', async () => {
    const { send } = await setUp(era)
    const error = { code: -32_602, message: 'params must be an object' }
    for (const params of ['null', '[]', '[1]', '"text"', '5', 'true'])
      for (const id of ['7', '9007199254740993', '"a"']) {
        const { text } = await send(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`)
        expect(text, params).toBe(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify(error)}}`)
      }
  })
})

describe('two pending requests of one session', () => {
  test('may have ids that only differ in digits that JavaScript cannot represent, and a cancellation ends the right one', async () => {
    const { send, call } = await setUp('legacy')
    const slow = (id: string, ms: number) => send(call(id, 'slow', `{"ms":${ms}}`))
    const first = slow('9007199254740993', 60_000)
    const second = slow('9007199254740992', 1000)
    const params = '{"requestId":9007199254740993}'
    const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":${params}}`
    let isDone = false
    void first.then(() => {
      isDone = true
    })
    // The notification may arrive before the request that it cancels.
    await expect.poll(async () => (await send(cancel)).status === 202 && isDone).toBe(true)
    expect((await first).text).toContain('"id":9007199254740993,"error":{"code":-31499')
    expect((await second).text).toContain('"id":9007199254740992,"result":')
  })

  test('must not have ids that are equal as numbers, such as 1 and 1.0', async () => {
    const { send, call } = await setUp('legacy')
    const first = send(call('1', 'slow', '{"ms":3000}'))
    await expect
      .poll(async () => (await send(call('1.0', 'slow', '{"ms":1}'))).text)
      .toContain(
        '{"jsonrpc":"2.0","id":1.0,"error":{"code":-32600,"message":"A request with this id is still pending"',
      )
    expect((await first).text).toContain('"id":1,"result":')
  })
})

test('subscriptions/listen names its own id as it was written, in every message (bytes are bytes)', async () => {
  const { service, agent, meta } = await setUp('modern')
  const id = '9007199254740993'
  const params = `{"notifications":{"toolsListChanged":true}${meta}}`
  const reply = await fetch(`${service.address}/mcp`, {
    method: 'POST',
    headers: { ...agent.headers, 'content-type': 'application/json', 'mcp-method': 'subscriptions/listen' },
    body: `{"jsonrpc":"2.0","id":${id},"method":"subscriptions/listen","params":${params}}`,
  })
  await service.close()
  const text = await reply.text()
  const events = text.split('\n\n').filter((event) => event.includes('data: '))
  for (const event of events) expect(event).toContain(`"io.modelcontextprotocol/subscriptionId":${id}`)
  // The start of the server may be announced before the end.
  const own = events.filter((event) => !event.includes('"notifications/tools/list_changed"'))
  expect(own).toHaveLength(3) // acknowledged, cancelled, the result
  expect(own[1]).toContain(`"requestId":${id}`)
  expect(own[2]).toContain(`"id":${id},"result":`)
})
