import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../../test/conformance/pipe.mjs'
import { openAsking } from '../../test/fixtures/http/asking.ts'
import { openDualEra } from '../../test/fixtures/http/dual-era.ts'
import { Agent, newKey } from '../../test/support/gateway.ts'
import { post } from '../../test/support/running-servers.ts'
import { openTestService, type TestService } from '../../test/support/test-service.ts'
import { add } from '../../test/support/with-servers.ts'

/** A service with one connected HTTP server. */
async function openWithServer(url: string, more: object = {}) {
  const service = await openTestService()
  const reply = await add(service, { name: 'far', url, ...more }, '/api/http-servers')
  expect(reply.statusCode, reply.body).toBe(201)
  await post(service, '/api/http-servers/far/tools/unknown/call', {}) // connects to the server
  return service
}

/** Connects a client of the MCP SDK that answers sampling and elicitation requests. */
async function agentAt(service: TestService, path = '/mcp/far') {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { sampling: {}, elicitation: { form: {} } } },
  )
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    role: 'assistant',
    model: 'm',
    content: { type: 'text', text: `thought about ${JSON.stringify(params.messages[0]?.content)}` },
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'alice' } }))
  const notifications: unknown[] = []
  for (const schema of [LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema])
    client.setNotificationHandler(schema, ({ params }) => void notifications.push(params))
  const transport = new StreamableHTTPClientTransport(new URL(service.address + path), {
    requestInit: { headers: { authorization: `Bearer ${await newKey(service)}` } },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, notifications }
}

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

describe.each(['streamable', 'sse'] as const)('legacy HTTP servers over %s', (over) => {
  const capabilities = { tools: {}, logging: {}, resources: { subscribe: true } }
  async function setUp() {
    const server = await openAsking({ over, capabilities })
    onTestFinished(() => void server.close())
    const service = await openWithServer(server.url)
    return { server, service, ...(await agentAt(service)) }
  }

  test(`sampling and elicitation requests of a legacy HTTP server reach the agent, over ${over}`, async () => {
    const { client } = await setUp()
    for (const apart of [false, true]) {
      const call = (kind: string) =>
        client.callTool({ name: 'ask', arguments: { kind, apart, text: 'tides' } }).then(textOf)
      expect(await call('sampling')).toContain('thought about')
      expect(await call('sampling')).toContain('tides')
      expect(await call('elicitation')).toContain('alice')
    }
    const { contents } = await client.readResource({ uri: 'note://a' })
    expect(contents).toEqual([{ uri: 'note://a', text: 'accept' }])
  })

  test(`progress and log messages of a legacy HTTP server reach the agent, over ${over}`, async () => {
    const { client, notifications, service } = await setUp()
    const steps: unknown[] = []
    const count = { name: 'count', arguments: { steps: 3 } }
    await client.callTool(count, undefined, { onprogress: ({ message }) => void steps.push(message) })
    expect(steps).toEqual(['step 1', 'step 2', 'step 3'])
    await client.setLoggingLevel('debug')
    await client.callTool({ name: 'say', arguments: { text: 'the tank is hot' } })
    const logMessage = { level: 'warning', logger: 'asking', data: 'the tank is hot' }
    await expect.poll(() => notifications).toContainEqual(logMessage)
    const lines = async () =>
      (await service.inject('/api/logs?server_id=far&stream=mcp')).json<{ items: object[] }>().items
    await expect
      .poll(lines)
      .toMatchObject([{ message: '[warning] asking: the tank is hot', level: 'warn', server_id: 'far' }])
  })
})

test.each(['streamable', 'sse'] as const)(
  'a call succeeds after an HTTP server has lost its session, over %s',
  async (over) => {
    const server = await openAsking({ over })
    onTestFinished(() => void server.close())
    const { client } = await agentAt(await openWithServer(server.url))
    const steps: unknown[] = []
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress)
    const count = () => client.callTool({ name: 'count', arguments: { steps: 1 } }, undefined, { onprogress })
    await count()
    server.forget()
    await count()
    expect([steps, server.calls()]).toEqual([[1, 1], 2])
  },
)

describe('modern HTTP servers', () => {
  async function conformance() {
    const pipe = await startPipe()
    onTestFinished(() => pipe.close())
    return openWithServer(pipe.url)
  }

  test('input requests of a modern HTTP server reach a legacy agent as sampling and elicitation requests', async () => {
    const { client } = await agentAt(await conformance())
    const call = (name: string, args: object = {}) =>
      client.callTool({ name, arguments: { ...args } }).then(textOf)
    expect(await call('test_input_required_result_elicitation')).toBe('Hello, alice!')
    expect(await call('test_input_required_result_sampling')).toContain('capital of France')
    expect(await call('test_sampling', { prompt: 'tides' })).toContain('tides')
  })

  test('a call of a modern agent reaches a modern HTTP server with all required headers, and without the key', async () => {
    const server = await openDualEra({ legacy: 'reject' })
    onTestFinished(() => void server.close())
    const service = await openWithServer(server.url, { headers: { 'X-Api-Key': 'k' } })
    const key = await newKey(service)
    const agent = await Agent.open(service, key, 'modern')
    const { answers } = await agent.call('far__echo', { text: 'a', region: 'eu-1' })
    expect(textOf(answers[0]?.result)).toBe('a from eu-1')
    const sent = server.received.findLast((headers) => headers['mcp-method'] === 'tools/call')
    expect(sent).toMatchObject({
      'mcp-name': 'echo',
      'mcp-param-region': 'eu-1',
      'mcp-protocol-version': '2026-07-28',
      'x-api-key': 'k',
    })
    expect(JSON.stringify(server.received)).not.toContain(key)
  })
})
