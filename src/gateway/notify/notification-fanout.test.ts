import { setTimeout as sleep } from 'node:timers/promises'
import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { addLibrary, agentAt, modern, modernFetch } from '../../../test/support/libraries.ts'
import { definition, post, until } from '../../../test/support/running-servers.ts'
import { openTestService, type TestService, TOKEN } from '../../../test/support/test-service.ts'

const TOOLS_CHANGED = 'notifications/tools/list_changed'
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const SHARED = 'book://shared'
const WRAPPED = 'toolroom://south/book%3A%2F%2Fshared'

async function setUp() {
  const service = await openTestService()
  await addLibrary(service, 'north')
  await addLibrary(service, 'south')
  const agent = await agentAt(service)
  await expect.poll(async () => (await agent.listResources()).resources).toHaveLength(4)
  await expect.poll(async () => (await agent.listPrompts()).prompts).toHaveLength(2)
  return { service, agent }
}

/** A legacy agent, and the notifications that it received. */
async function receivingAgent(service: TestService, path = '/mcp') {
  const received = { logs: [] as unknown[], updates: [] as unknown[], lists: [] as string[] }
  const client = await agentAt(service, path, (it) => {
    it.setNotificationHandler(
      LoggingMessageNotificationSchema,
      ({ params }) => void received.logs.push(params),
    )
    it.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void received.updates.push(params.uri),
    )
    for (const schema of [PromptListChangedNotificationSchema, ResourceListChangedNotificationSchema])
      it.setNotificationHandler(schema, ({ method }) => void received.lists.push(method))
  })
  return { client, received }
}

/** The requests that a library received. */
async function requestsTo(client: Client, server: string) {
  const { content } = await client.callTool({ name: `${server}__asked` })
  return JSON.parse((content as { text: string }[])[0]?.text ?? '{}')
}

/** The messages of a `subscriptions/listen` request, as they arrive. */
async function subscribed(service: TestService, notifications: object, path = '/mcp') {
  const reply = await modernFetch(service, 'subscriptions/listen', { notifications }, {}, path)
  const messages: { method?: string; params?: object }[] = []
  const read = async () => {
    let rest = ''
    for await (const part of reply.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const events = (rest + part).split('\n\n')
      rest = events.pop() ?? ''
      for (const event of events) {
        const data = /^data: ?(.+)$/m.exec(event)?.[1]
        if (data) messages.push(JSON.parse(data))
      }
    }
  }
  void read().catch(() => {}) // closed at the end of the test
  onTestFinished(() => void reply.body?.cancel().catch(() => {}))
  await expect.poll(() => messages.length).toBeGreaterThan(0)
  return messages
}

describe('tool lists', () => {
  test('a session at /mcp/{server_id} is told about changed tools of its own server, not of other servers', async () => {
    const service = await openTestService()
    for (const name of ['own', 'other']) {
      await post(service, '/api/servers', { ...definition('relay'), name })
      await post(service, `/api/servers/${name}/start`)
    }
    const told: string[] = []
    for (const path of ['/mcp', '/mcp/own'])
      await agentAt(service, path, (it) =>
        it.setNotificationHandler(ToolListChangedNotificationSchema, () => void told.push(path)),
      )
    const count = (path: string) => told.filter((each) => each === path).length
    const listening = await subscribed(service, { toolsListChanged: true }, '/mcp/own')
    const toldByListen = () => listening.filter(({ method }) => method === TOOLS_CHANGED).length
    const grow = (name: string) => post(service, `/api/servers/${name}/tools/grow/call`, {})

    const settled = async () => {
      for (let before = -1; before !== count('/mcp'); await sleep(300)) before = count('/mcp')
    }
    await settled()
    const [all, own, listened] = [count('/mcp'), count('/mcp/own'), toldByListen()]
    await grow('other')
    await post(service, '/api/servers', { ...definition('echo'), name: 'third' })
    await service.inject({ method: 'DELETE', url: '/api/servers/third', headers: { 'x-svc-token': TOKEN } })
    await expect.poll(() => count('/mcp')).toBeGreaterThan(all)
    await service.inject({
      method: 'PUT',
      url: '/api/agents/cursor/tools',
      headers: { 'x-svc-token': TOKEN },
      payload: { tools: { other: ['echo'] } },
    })
    await settled()
    expect([count('/mcp/own'), toldByListen()]).toEqual([own, listened])

    await grow('own')
    await expect.poll(() => [count('/mcp/own'), toldByListen()]).toEqual([own + 1, listened + 1])
    await settled()
    expect([count('/mcp/own'), toldByListen()]).toEqual([own + 1, listened + 1])
  })
})

describe('log messages', () => {
  test('a session gets the log messages of its own calls from its level on, with the server id in the logger name, and no other session gets them', async () => {
    const { service, agent } = await setUp()
    const [withLevel, withoutLevel, oneServer] = [
      await receivingAgent(service),
      await receivingAgent(service),
      await receivingAgent(service, '/mcp/south'),
    ]
    await withLevel.client.setLoggingLevel('info')
    await expect.poll(async () => (await requestsTo(agent, 'south')).level).toBe('info')
    await withLevel.client.callTool({ name: 'south__log' })
    await expect
      .poll(() => withLevel.received.logs)
      .toEqual([
        { level: 'info', logger: 'south/desk', data: 'info' },
        { level: 'error', logger: 'south/desk', data: 'error' },
      ])
    // Without a level, an agent gets no log messages at /mcp, and all log messages at /mcp/{server_id}.
    await withoutLevel.client.callTool({ name: 'south__log' })
    await oneServer.client.callTool({ name: 'log' })
    await expect.poll(() => oneServer.received.logs).toHaveLength(3)
    await oneServer.client.setLoggingLevel('error')
    await oneServer.client.callTool({ name: 'log' })
    await expect
      .poll(() => oneServer.received.logs.slice(3))
      .toEqual([{ level: 'error', logger: 'desk', data: 'error' }])
    expect(withoutLevel.received.logs).toEqual([])
    expect(withLevel.received.logs).toHaveLength(2)
    await expect(withoutLevel.client.setLoggingLevel('unknown' as 'info')).rejects.toMatchObject({
      code: -32602,
    })
  })

  test('a server gets the lowest level of all sessions, also after a restart, and a higher one when that session ends', async () => {
    const { service, agent } = await setUp()
    const [debugging, quiet] = [await receivingAgent(service), await receivingAgent(service)]
    await quiet.client.setLoggingLevel('error')
    await debugging.client.setLoggingLevel('debug')
    await expect.poll(async () => (await requestsTo(agent, 'north')).level).toBe('debug')
    await post(service, '/api/servers/north/restart')
    await expect.poll(async () => (await requestsTo(agent, 'north')).level).toBe('debug')
    await endSession(debugging.client)
    await expect.poll(async () => (await requestsTo(agent, 'north')).level).toBe('error')
  })

  test('a modern request gets log messages only if it sets a log level', async () => {
    const { service } = await setUp()
    const call = { name: 'south__log', arguments: {} }
    const withoutLevel = await (await modernFetch(service, 'tools/call', call)).text()
    expect(withoutLevel).not.toContain('notifications/message')
    const withLevel = await (await modernFetch(service, 'tools/call', call, { [LOG_LEVEL]: 'error' })).text()
    const messages = [...withLevel.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => JSON.parse(data ?? ''))
    expect(messages).toMatchObject([
      { method: 'notifications/message', params: { level: 'error', logger: 'south/desk' } },
      { id: 0, result: { resultType: 'complete' } },
    ])
  })
})

describe('resource subscriptions', () => {
  test('each subscriber gets updates of a resource under the URI it uses, and the server gets one subscription', async () => {
    const { service, agent } = await setUp()
    const subscribers = [
      await receivingAgent(service),
      await receivingAgent(service),
      await receivingAgent(service, '/mcp/south'),
    ]
    const [one, two, oneServer] = subscribers
    await one?.client.subscribeResource({ uri: WRAPPED })
    await two?.client.subscribeResource({ uri: WRAPPED })
    await oneServer?.client.subscribeResource({ uri: SHARED })
    const other = await receivingAgent(service)
    await other.client.subscribeResource({ uri: SHARED })
    expect((await requestsTo(agent, 'south')).subscribes).toEqual([SHARED])
    expect((await requestsTo(agent, 'north')).subscribes).toEqual([SHARED])
    await agent.callTool({ name: 'south__touch', arguments: { uri: SHARED } })
    await agent.callTool({ name: 'south__touch', arguments: { uri: 'book://south/one' } })
    await expect
      .poll(() => subscribers.map(({ received }) => received.updates))
      .toEqual([[WRAPPED], [WRAPPED], [SHARED]])
    await agent.callTool({ name: 'north__touch', arguments: { uri: `${SHARED}/chapter` } })
    await expect.poll(() => other.received.updates).toEqual([`${SHARED}/chapter`])

    await one?.client.unsubscribeResource({ uri: WRAPPED })
    await endSession(two?.client)
    expect((await requestsTo(agent, 'south')).unsubscribes).toEqual([])
    await endSession(oneServer?.client)
    await expect.poll(async () => (await requestsTo(agent, 'south')).unsubscribes).toEqual([SHARED])
    await agent.callTool({ name: 'south__touch', arguments: { uri: SHARED } })
    expect(one?.received.updates).toEqual([WRAPPED])
  })

  test('a request to unsubscribe from a resource that is not subscribed to is answered by its server, unless another client is subscribed', async () => {
    const { service, agent } = await setUp()
    const [subscribed, other] = [await receivingAgent(service), await receivingAgent(service, '/mcp/north')]
    await subscribed.client.subscribeResource({ uri: 'book://north/one' })
    await other.client.unsubscribeResource({ uri: 'book://north/one' })
    expect((await requestsTo(agent, 'north')).unsubscribes).toEqual([])
    await other.client.unsubscribeResource({ uri: 'book://north/two' })
    expect((await requestsTo(agent, 'north')).unsubscribes).toEqual(['book://north/two'])
  })

  test('resource subscriptions survive a restart of the server, and an unknown resource is refused', async () => {
    const { service, agent } = await setUp()
    const { client, received } = await receivingAgent(service)
    await client.subscribeResource({ uri: 'book://north/one' })
    await post(service, '/api/servers/north/restart')
    await expect.poll(async () => (await requestsTo(agent, 'north')).subscribes).toEqual(['book://north/one'])
    await agent.callTool({ name: 'north__touch', arguments: { uri: 'book://north/one' } })
    await expect.poll(() => received.updates).toEqual(['book://north/one'])
    await expect(client.subscribeResource({ uri: 'no://such' })).rejects.toMatchObject({ code: -32002 })
  })

  test('a modern agent gets an acknowledgement of its resource subscriptions first, and then their updates', async () => {
    const { service, agent } = await setUp()
    const requested = { resourceSubscriptions: [WRAPPED, 'no://such'], promptsListChanged: true }
    const messages = await subscribed(service, requested)
    expect(messages[0]).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { resourceSubscriptions: [WRAPPED], promptsListChanged: true } },
    })
    await expect.poll(async () => (await requestsTo(agent, 'south')).subscribes).toEqual([SHARED])
    await agent.callTool({ name: 'south__touch', arguments: { uri: SHARED } })
    await expect
      .poll(() => messages.find(({ method }) => method === 'notifications/resources/updated'))
      .toEqual({
        jsonrpc: '2.0',
        method: 'notifications/resources/updated',
        params: { uri: WRAPPED, _meta: { 'io.modelcontextprotocol/subscriptionId': 0 } },
      })
  })
})

describe('list changes', () => {
  test('an entry that is not offered because of a conflict is logged once', async () => {
    const { service } = await setUp()
    const lines = async () =>
      (await service.inject('/api/logs?server_id=south&search=offered')).json<{ items: object[] }>().items
    await expect
      .poll(lines)
      .toMatchObject([{ server_id: 'south', data: { kind: 'resource_template', name: 'book://any/{id}' } }])
  })

  test('agents at /mcp are notified when a list changes, and then get the new list', async () => {
    const { service, agent } = await setUp()
    const { received } = await receivingAgent(service)
    const messages = await subscribed(service, { promptsListChanged: true, resourcesListChanged: true })
    await settle(received.lists)
    await agent.callTool({ name: 'north__grow' })
    const both = ['notifications/prompts/list_changed', 'notifications/resources/list_changed']
    await expect.poll(() => [...new Set(received.lists)].sort()).toEqual(both)
    await expect.poll(() => [...new Set(messages.slice(1).map(({ method }) => method))].sort()).toEqual(both)
    const { prompts } = await agent.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['north__greet', 'north__more_1', 'south__greet'])
    expect(JSON.stringify((await modern(service, 'resources/list')).result)).toContain('book://north/more/2')
  })

  test('agents are notified when a server with entries is deleted, but not when one without entries is added', async () => {
    const { service } = await setUp()
    const { received } = await receivingAgent(service)
    await settle(received.lists)
    await post(service, '/api/servers', definition('echo'))
    await post(service, '/api/servers/echo/start')
    await until(service, 'echo', ({ status }) => status === 'running')
    expect(received.lists).toEqual([])
    await post(service, '/api/servers/south/stop')
    await service.inject({ method: 'DELETE', url: '/api/servers/south', headers: { 'x-svc-token': TOKEN } })
    await expect
      .poll(() => [...received.lists].sort())
      .toEqual(['notifications/prompts/list_changed', 'notifications/resources/list_changed'])
  })
})

/** Waits until the notifications about the start of the servers have arrived, and clears them. */
async function settle(received: unknown[]): Promise<void> {
  let [since, count] = [performance.now(), received.length]
  const quietMs = () => {
    if (received.length !== count) [since, count] = [performance.now(), received.length]
    return performance.now() - since
  }
  await expect.poll(quietMs).toBeGreaterThan(500)
  received.length = 0
}

async function endSession(client: Client | undefined): Promise<void> {
  const { transport } = client ?? {}
  await (transport as { terminateSession?: () => Promise<void> } | undefined)?.terminateSession?.()
}
