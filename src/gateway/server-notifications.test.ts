import {
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../../test/conformance/pipe.mjs'
import { openWatchable } from '../../test/fixtures/http/watchable.ts'
import { agentAt } from '../../test/support/libraries.ts'
import { definition, post } from '../../test/support/running-servers.ts'
import { openTestService, type TestService } from '../../test/support/test-service.ts'

/** Adds a modern server with the id `new`, by transport. */
const ADD_SERVER = {
  async stdio(service: TestService) {
    await post(service, '/api/servers', { ...definition('conformance', ['--era=modern']), name: 'new' })
    await post(service, '/api/servers/new/start')
  },
  async http(service: TestService) {
    const pipe = await startPipe()
    onTestFinished(() => pipe.close())
    await post(service, '/api/http-servers', { name: 'new', url: pipe.url })
    await post(service, '/api/http-servers/new/tools/unknown/call', {}) // connects to the server
  },
}

describe.each(Object.entries(ADD_SERVER))('modern servers over %s', (transport, addServer) => {
  test(`a legacy agent gets the prompts and resources of a modern server, and their changes, over ${transport}`, async () => {
    const service = await openTestService()
    await addServer(service)
    const received: string[] = []
    const agent = await agentAt(service, '/mcp', (it) => {
      it.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void received.push(params.uri),
      )
      it.setNotificationHandler(
        PromptListChangedNotificationSchema,
        ({ method }) => void received.push(method),
      )
    })
    await expect.poll(async () => (await agent.listPrompts()).prompts).toHaveLength(5)
    await expect.poll(async () => (await agent.listResources()).resources).toHaveLength(3)
    const { contents } = await agent.readResource({ uri: 'test://static-text' })
    expect(contents).toMatchObject([{ uri: 'test://static-text' }])

    const uri = 'test://watched-resource'
    await agent.subscribeResource({ uri })
    // The subscription is part of a long-lived request, and no response confirms it.
    await expect
      .poll(async () => {
        await agent.callTool({ name: 'new__test_trigger_resource_change' })
        return received
      })
      .toContain(uri)
    received.length = 0
    await agent.callTool({ name: 'new__test_trigger_prompt_change' })
    await expect.poll(() => received).toContain('notifications/prompts/list_changed')
    await expect.poll(async () => (await agent.listPrompts()).prompts).toHaveLength(6)
  })
})

test('a legacy HTTP server that has lost its session gets all subscriptions and log levels again', async () => {
  const server = await openWatchable()
  onTestFinished(() => void server.close())
  const service = await openTestService()
  await post(service, '/api/http-servers', { name: 'far', url: server.url })
  await post(service, '/api/http-servers/far/tools/nothing/call', {})
  const agent = await agentAt(service)
  await expect.poll(async () => (await agent.listResources()).resources).toHaveLength(1)
  await agent.subscribeResource({ uri: 'note://1' })
  await agent.setLoggingLevel('error')
  const subscriptions = expect.arrayContaining([
    'resources/subscribe',
    'note://1',
    'logging/setLevel',
    'error',
  ])
  await expect.poll(server.asked).toEqual(subscriptions)
  server.forget()
  await agent.callTool({ name: 'far__nothing' })
  await expect.poll(server.asked).toEqual(subscriptions)
})
