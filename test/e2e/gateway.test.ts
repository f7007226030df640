import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CreateMessageRequestSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { expect, onTestFinished, test } from 'vitest'
import type { NewKey } from '../../src/gateway/keys/keys.schema.ts'
import { byNode } from '../support/real-servers.ts'
import { post } from '../support/running-servers.ts'
import { AUTHORISED, openTestService } from '../support/test-service.ts'

/** The direct responses of the real server and those through the gateway must be equal. */
test('tools, resources, prompts and completion of server-everything are the same through the gateway as directly', async () => {
  const everything = byNode('everything')
  const service = await openTestService()
  await post(service, '/api/servers', { name: 'everything', ...everything })
  await post(service, '/api/servers/everything/start')
  const { key } = (await post(service, '/api/keys', { agent_type: 'inspector' })).json<NewKey>()
  const direct = askable()
  await direct.connect(
    new StdioClientTransport({ command: everything.command, args: [...everything.args], stderr: 'ignore' }),
  )
  const through = askable()
  const url = new URL(`${service.address}/mcp/everything`)
  await through.connect(
    new StreamableHTTPClientTransport(url, { requestInit: { headers: { authorization: `Bearer ${key}` } } }),
  )
  onTestFinished(async () => {
    await Promise.all([direct.close(), through.close()])
  })
  const both = async <T>(ask: (client: Client) => Promise<T>): Promise<[T, T]> => [
    await ask(direct),
    await ask(through),
  ]

  const [ownTools, ourTools] = await both((client) => client.listTools())
  const names = ({ tools }: typeof ownTools) => tools.map(({ name }) => name)
  expect(names(ourTools)).toEqual(names(ownTools))
  expect(names(ourTools)).toEqual(
    expect.arrayContaining(['trigger-sampling-request', 'trigger-elicitation-request']),
  )
  const questions: ((client: Client) => Promise<unknown>)[] = [
    (client) => client.callTool({ name: 'echo', arguments: { message: 'through' } }),
    (client) => client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } }),
    (client) =>
      client.callTool({ name: 'trigger-sampling-request', arguments: { prompt: 'say it', maxTokens: 10 } }),
    (client) => client.callTool({ name: 'trigger-elicitation-request', arguments: {} }),
    (client) => client.listResources(),
    (client) => client.listResourceTemplates(),
    (client) => client.listPrompts(),
    (client) => client.getPrompt({ name: 'simple-prompt' }),
    (client) =>
      client.complete({
        ref: { type: 'ref/prompt', name: 'completable-prompt' },
        argument: { name: 'department', value: 'E' },
      }),
  ]
  for (const ask of questions) {
    const [own, ours] = await both(ask)
    expect(ours).toEqual(own)
  }
  const [first] = (await direct.listResources()).resources
  if (first) {
    const [own, ours] = await both((client) => client.readResource({ uri: first.uri }))
    expect(ours).toEqual(own)
  }
  const steps: unknown[] = []
  const longCall = { name: 'trigger-long-running-operation', arguments: { duration: 1, steps: 3 } }
  await through.callTool(longCall, undefined, {
    onprogress: ({ progress, total }) => steps.push([progress, total]),
  })
  expect(steps).toEqual([
    [1, 3],
    [2, 3],
    [3, 3],
  ])
  await expect(through.readResource({ uri: 'no://such' })).rejects.toMatchObject({ code: expect.any(Number) })
  const calls = (await service.inject({ url: '/api/metrics/agents', headers: AUTHORISED })).json()
  expect(JSON.stringify(calls)).toContain('inspector')
})

/** An agent that supports sampling and elicitation. */
function askable(): Client {
  const client = new Client(
    { name: 'test', version: '1' },
    { capabilities: { sampling: {}, elicitation: { form: {}, url: {} } } },
  )
  client.setRequestHandler(CreateMessageRequestSchema, async () => ({
    role: 'assistant' as const,
    model: 'test',
    content: { type: 'text' as const, text: 'as you asked' },
  }))
  client.setRequestHandler(ElicitRequestSchema, async () => ({ action: 'decline' as const }))
  return client
}
