import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { expect, onTestFinished, test } from 'vitest'
import type { NewKey } from '../../src/gateway/keys.schema.ts'
import { AUTHORISED, openHouse } from '../support/house.ts'
import { byNode } from '../support/real-servers.ts'
import { post } from '../support/running.ts'

/** What the real server says directly, and what it says through us, must be the same. */
test('server-everything is the same through the gateway as it is directly: tools, resources, prompts, completion', async () => {
  const everything = byNode('everything')
  const house = await openHouse()
  await post(house, '/api/servers', { name: 'everything', ...everything })
  await post(house, '/api/servers/everything/start')
  const { key } = (await post(house, '/api/keys', { agent_type: 'inspector' })).json<NewKey>()
  const direct = new Client({ name: 'test', version: '1' })
  await direct.connect(
    new StdioClientTransport({ command: everything.command, args: [...everything.args], stderr: 'ignore' }),
  )
  const through = new Client({ name: 'test', version: '1' })
  const url = new URL(`${house.address}/mcp/everything`)
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
  // What it offers only to agents that can be asked back is not offered to us, yet.
  expect(names(ownTools)).toEqual(expect.arrayContaining(names(ourTools)))
  expect(ourTools.tools.length).toBeGreaterThan(5)
  const questions: ((client: Client) => Promise<unknown>)[] = [
    (client) => client.callTool({ name: 'echo', arguments: { message: 'through' } }),
    (client) => client.callTool({ name: 'get-sum', arguments: { a: 2, b: 3 } }),
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
  const calls = (await house.inject({ url: '/api/metrics/agents', headers: AUTHORISED })).json()
  expect(JSON.stringify(calls)).toContain('inspector')
}, 30_000)
