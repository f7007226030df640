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
import { add } from '../../test/support/furnished.ts'
import { Agent, newKey } from '../../test/support/gateway.ts'
import { type House, openHouse } from '../../test/support/house.ts'
import { post } from '../../test/support/running.ts'

/** A house with one HTTP server, which is known already. */
async function furnished(url: string, more: object = {}) {
  const house = await openHouse()
  const reply = await add(house, { name: 'far', url, ...more }, '/api/http-servers')
  expect(reply.statusCode, reply.body).toBe(201)
  await post(house, '/api/http-servers/far/tools/unknown/call', {}) // whoever is called is connected to
  return house
}

/** As the SDK of the old revisions does it, with somebody who answers. */
async function agentAt(house: House, path = '/mcp/far') {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { sampling: {}, elicitation: { form: {} } } },
  )
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => ({
    role: 'assistant',
    model: 'm',
    content: { type: 'text', text: `thought about ${JSON.stringify(params.messages[0]?.content)}` },
  }))
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'somebody' } }))
  const notes: unknown[] = []
  for (const schema of [LoggingMessageNotificationSchema, ResourceUpdatedNotificationSchema])
    client.setNotificationHandler(schema, ({ params }) => void notes.push(params))
  const transport = new StreamableHTTPClientTransport(new URL(house.address + path), {
    requestInit: { headers: { authorization: `Bearer ${await newKey(house)}` } },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return { client, notes }
}

const said = (result: unknown) => (result as { content: { text: string }[] }).content[0]?.text ?? ''

describe.each(['streamable', 'sse'] as const)('a legacy server at a URL, over %s,', (over) => {
  const capabilities = { tools: {}, logging: {}, resources: { subscribe: true } }
  async function asking() {
    const server = await openAsking({ over, capabilities })
    onTestFinished(() => void server.close())
    const house = await furnished(server.url)
    return { server, house, ...(await agentAt(house)) }
  }

  test('asks the agent that calls: what it thinks, and what its person says', async () => {
    const { client } = await asking()
    for (const apart of [false, true]) {
      const ask = (kind: string) =>
        client.callTool({ name: 'ask', arguments: { kind, apart, text: 'tides' } }).then(said)
      expect(await ask('sampling')).toContain('thought about')
      expect(await ask('sampling')).toContain('tides')
      expect(await ask('elicitation')).toContain('somebody')
    }
    const { contents } = await client.readResource({ uri: 'note://a' })
    expect(contents).toEqual([{ uri: 'note://a', text: 'accept' }])
  })

  test('says how far it is, and what it does: to the agent, and to the log', async () => {
    const { client, notes, house } = await asking()
    const steps: unknown[] = []
    const count = { name: 'count', arguments: { steps: 3 } }
    await client.callTool(count, undefined, { onprogress: ({ message }) => void steps.push(message) })
    expect(steps).toEqual(['step 1', 'step 2', 'step 3'])
    await client.setLoggingLevel('debug')
    await client.callTool({ name: 'say', arguments: { text: 'the tank is hot' } })
    const said = { level: 'warning', logger: 'asking', data: 'the tank is hot' }
    await expect.poll(() => notes).toContainEqual(said)
    const lines = async () =>
      (await house.inject('/api/logs?server_id=far&stream=mcp')).json<{ items: object[] }>().items
    await expect
      .poll(lines)
      .toMatchObject([{ message: '[warning] asking: the tank is hot', level: 'warn', server_id: 'far' }])
  })
})

test.each(['streamable', 'sse'] as const)(
  'a server that was started anew is called as if nothing had happened, over %s',
  async (over) => {
    const server = await openAsking({ over })
    onTestFinished(() => void server.close())
    const { client } = await agentAt(await furnished(server.url))
    const steps: unknown[] = []
    const onprogress = ({ progress }: { progress: number }) => void steps.push(progress)
    const count = () => client.callTool({ name: 'count', arguments: { steps: 1 } }, undefined, { onprogress })
    await count()
    server.forget()
    await count()
    expect([steps, server.calls()]).toEqual([[1, 1], 2])
  },
)

describe('a modern server at a URL', () => {
  async function conformance() {
    const pipe = await startPipe()
    onTestFinished(() => pipe.close())
    return furnished(pipe.url)
  }

  test('gets the answers of a legacy agent, which is asked as it was always asked', async () => {
    const { client } = await agentAt(await conformance())
    const ask = (name: string, args: object = {}) =>
      client.callTool({ name, arguments: { ...args } }).then(said)
    expect(await ask('test_input_required_result_elicitation')).toBe('Hello, somebody!')
    expect(await ask('test_input_required_result_sampling')).toContain('capital of France')
    expect(await ask('test_sampling', { prompt: 'tides' })).toContain('tides')
  })

  test('is asked by a modern agent in its own words, with every header as the server wants it', async () => {
    const server = await openDualEra({ legacy: 'reject' })
    onTestFinished(() => void server.close())
    const house = await furnished(server.url, { headers: { 'X-Api-Key': 'k' } })
    const key = await newKey(house)
    const agent = await Agent.open(house, key, 'modern')
    const { answers } = await agent.call('far__echo', { text: 'a', region: 'eu-1' })
    expect(said(answers[0]?.result)).toBe('a from eu-1')
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
