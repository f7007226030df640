import {
  PromptListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../../test/conformance/pipe.mjs'
import { openWatchable } from '../../test/fixtures/http/watchable.ts'
import { type House, openHouse } from '../../test/support/house.ts'
import { agentAt } from '../../test/support/libraries.ts'
import { definition, post } from '../../test/support/running.ts'

/** A server that knows only the modern era, over either way, under the id `new`. */
const WAYS = {
  async stdio(house: House) {
    await post(house, '/api/servers', { ...definition('conformance', ['--era=modern']), name: 'new' })
    await post(house, '/api/servers/new/start')
  },
  async http(house: House) {
    const pipe = await startPipe()
    onTestFinished(() => pipe.close())
    await post(house, '/api/http-servers', { name: 'new', url: pipe.url })
    await post(house, '/api/http-servers/new/tools/unknown/call', {}) // whoever is called is connected to
  },
}

describe.each(Object.entries(WAYS))('a server of the modern era over %s', (_, begin) => {
  test('offers its prompts and resources to a legacy agent, and says when they change', async () => {
    const house = await openHouse()
    await begin(house)
    const heard: string[] = []
    const agent = await agentAt(house, '/mcp', (it) => {
      it.setNotificationHandler(
        ResourceUpdatedNotificationSchema,
        ({ params }) => void heard.push(params.uri),
      )
      it.setNotificationHandler(PromptListChangedNotificationSchema, ({ method }) => void heard.push(method))
    })
    await expect.poll(async () => (await agent.listPrompts()).prompts, { timeout: 5000 }).toHaveLength(5)
    await expect.poll(async () => (await agent.listResources()).resources).toHaveLength(3)
    const { contents } = await agent.readResource({ uri: 'test://static-text' })
    expect(contents).toMatchObject([{ uri: 'test://static-text' }])

    const uri = 'test://watched-resource'
    await agent.subscribeResource({ uri })
    // The server is told in a request that lasts, and nothing says when it has heard that.
    await expect
      .poll(async () => {
        await agent.callTool({ name: 'new__test_trigger_resource_change' })
        return heard
      })
      .toContain(uri)
    heard.length = 0
    await agent.callTool({ name: 'new__test_trigger_prompt_change' })
    await expect.poll(() => heard, { timeout: 5000 }).toContain('notifications/prompts/list_changed')
    await expect.poll(async () => (await agent.listPrompts()).prompts).toHaveLength(6)
  })
})

test('a legacy server at a URL that has forgotten its session is told again what agents want to hear', async () => {
  const server = await openWatchable()
  onTestFinished(() => void server.close())
  const house = await openHouse()
  await post(house, '/api/http-servers', { name: 'far', url: server.url })
  await post(house, '/api/http-servers/far/tools/nothing/call', {})
  const agent = await agentAt(house)
  await expect.poll(async () => (await agent.listResources()).resources).toHaveLength(1)
  await agent.subscribeResource({ uri: 'note://1' })
  await agent.setLoggingLevel('error')
  const wishes = expect.arrayContaining(['resources/subscribe', 'note://1', 'logging/setLevel', 'error'])
  await expect.poll(server.asked).toEqual(wishes)
  server.forget()
  await agent.callTool({ name: 'far__nothing' })
  await expect.poll(server.asked, { timeout: 15_000 }).toEqual(wishes)
})
