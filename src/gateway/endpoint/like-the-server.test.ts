import { describe, expect, test } from 'vitest'
import { Exchange, LegacyAgent } from '../../../test/support/event-streams.ts'
import { Agent, META, newKey, textOf } from '../../../test/support/gateway.ts'
import { sharedByTests } from '../../../test/support/lifetime.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService } from '../../../test/support/test-service.ts'

async function setUp(kinds: readonly string[], args: readonly string[] = []) {
  const service = await openTestService()
  for (const kind of kinds) {
    await register(service, kind, args)
    await post(service, `/api/servers/${kind}/start`)
  }
  return { service, key: await newKey(service) }
}

/** For the tests that stop and change nothing. */
const shared = sharedByTests(() => setUp(['echo', 'mirror', 'exact']))

describe.each(['legacy', 'modern'] as const)('%s agents', (era) => {
  test(`an empty cursor of a ${era} agent gets the first page of tools/list, and an unknown one is refused`, async () => {
    const { service, key } = await shared()
    for (const path of ['/mcp', '/mcp/echo']) {
      const agent = await Agent.open(service, key, era, path)
      const [all, empty] = [await agent.ask('tools/list'), await agent.ask('tools/list', { cursor: '' })]
      expect(empty.answers[0]?.result).toEqual(all.answers[0]?.result)
      const unknown = await agent.ask('tools/list', { cursor: 'x' })
      expect(unknown.answers[0]?.error).toMatchObject({ code: -32602 })
    }
  })

  test.each([[null], [[]], ['text'], [7]])(
    `arguments of a ${era} agent that are %j reach the server, which judges them`,
    async (args) => {
      const { service, key } = await shared()
      for (const [path, name] of [
        ['/mcp', 'mirror__mirror'],
        ['/mcp/mirror', 'mirror'],
      ] as const) {
        const agent = await Agent.open(service, key, era, path)
        const { answers } = await agent.ask('tools/call', { name, arguments: args })
        expect(JSON.parse(textOf(answers[0]) ?? '')).toMatchObject({ arguments: args })
      }
    },
  )

  test(`an error of a server reaches a ${era} agent as the server wrote it (bytes are bytes)`, async () => {
    const { service, key } = await shared()
    const written = String.raw`"error":{"code":4711,"message":"The shelf is l\u00f6cked","data":{"big":18446744073709551615,"one":1.0,"list":[null]}}`
    for (const [path, name] of [
      ['/mcp', 'exact__fail'],
      ['/mcp/exact', 'fail'],
    ] as const) {
      const agent = await Agent.open(service, key, era, path)
      const params = { name, arguments: {}, ...(era === 'modern' && { _meta: META }) }
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      expect(await (await agent.send(body, 'tools/call', name)).text()).toContain(written)
    }
  })

  test(`the _meta of a tool list reaches a ${era} agent at /mcp/{server_id}, also while the server sleeps`, async () => {
    const { service, key } = await setUp(['listing'], ['--meta'])
    const agent = await Agent.open(service, key, era, '/mcp/listing')
    const list = async () => (await agent.ask('tools/list')).answers[0]?.result
    expect(await list()).toMatchObject({ _meta: { 'a/b': [1] }, tools: [{ name: 'echo' }, {}, {}] })
    await post(service, '/api/servers/listing/stop')
    expect(await list()).toMatchObject({ _meta: { 'a/b': [1] } })
    const together = await Agent.open(service, key, era)
    expect((await together.ask('tools/list')).answers[0]?.result).not.toHaveProperty('_meta')
  })
})

test('a server without subscriptions refuses resources/unsubscribe itself at /mcp/{server_id}', async () => {
  const { service, key } = await shared()
  const agent = await LegacyAgent.open({ address: service.address, key, path: '/mcp/echo' })
  const { error } = await agent.request('resources/unsubscribe', { uri: 'x://1' }).responded()
  expect(error).toEqual({ code: -32601, message: 'Method not found: resources/unsubscribe' })
})

describe('the header MCP-Protocol-Version of a session', () => {
  test.each([
    ['2025-11-25', 200],
    ['2025-06-18', 200],
    ['2024-11-05', 200],
    [undefined, 200],
    ['2025-01-01', 400],
    ['1', 400],
  ])(
    'a request of a session with MCP-Protocol-Version %s gets %i, as from the official SDK',
    async (version, status) => {
      const { service, key } = await shared()
      const endpoint = { address: service.address, key, path: '/mcp/echo' }
      const { session } = await LegacyAgent.open(endpoint, '2025-11-25')
      const send = (method: string, body?: object) =>
        new Exchange(service.address + endpoint.path, {
          method,
          headers: {
            authorization: `Bearer ${key}`,
            'mcp-session-id': session,
            ...(version !== undefined && { 'mcp-protocol-version': version }),
          },
          ...(body && { body }),
        })
      const stream = send('GET')
      const ping = send('POST', { jsonrpc: '2.0', id: 1, method: 'ping' })
      const { error } = await ping.responded()
      await expect.poll(() => stream.status).toBe(status)
      expect(ping.status).toBe(status)
      if (status === 200) return
      const message = expect.stringMatching(/^Bad Request: Unsupported protocol version: .*2025-11-25/)
      expect(error).toMatchObject({ code: -32000, message })
    },
  )
})
