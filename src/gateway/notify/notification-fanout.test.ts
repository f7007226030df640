import type { Client } from '@modelcontextprotocol/sdk/client/index.js'
import {
  LoggingMessageNotificationSchema,
  PromptListChangedNotificationSchema,
  ResourceListChangedNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type House, openHouse, TOKEN } from '../../../test/support/house.ts'
import { addLibrary, agentAt, ask, modern } from '../../../test/support/libraries.ts'
import { definition, post, until } from '../../../test/support/running.ts'

const LOG_LEVEL = 'io.modelcontextprotocol/logLevel'
const SHARED = 'book://shared'
const WRAPPED = 'toolroom://south/book%3A%2F%2Fshared'

async function furnished() {
  const house = await openHouse()
  await addLibrary(house, 'north')
  await addLibrary(house, 'south')
  const agent = await agentAt(house)
  await expect.poll(async () => (await agent.listResources()).resources).toHaveLength(4)
  await expect.poll(async () => (await agent.listPrompts()).prompts).toHaveLength(2)
  return { house, agent }
}

/** An agent of the old revisions, and everything that it heard. */
async function hearing(house: House, path = '/mcp') {
  const heard = { logs: [] as unknown[], updates: [] as unknown[], lists: [] as string[] }
  const client = await agentAt(house, path, (it) => {
    it.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => void heard.logs.push(params))
    it.setNotificationHandler(
      ResourceUpdatedNotificationSchema,
      ({ params }) => void heard.updates.push(params.uri),
    )
    for (const schema of [PromptListChangedNotificationSchema, ResourceListChangedNotificationSchema])
      it.setNotificationHandler(schema, ({ method }) => void heard.lists.push(method))
  })
  return { client, heard }
}

/** What a library was asked to do. */
async function askedOf(client: Client, server: string) {
  const { content } = await client.callTool({ name: `${server}__asked` })
  return JSON.parse((content as { text: string }[])[0]?.text ?? '{}')
}

/** What a request of the modern era that lasts is told, one message after the other. */
async function listening(house: House, notifications: object, path = '/mcp') {
  const reply = await ask(house, 'subscriptions/listen', { notifications }, {}, path)
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
  void read().catch(() => {}) // the end of the test
  onTestFinished(() => void reply.body?.cancel().catch(() => {}))
  await expect.poll(() => messages.length).toBeGreaterThan(0)
  return messages
}

describe('the log of servers', () => {
  test('is heard by who has said from which level on, with the name of the server in front', async () => {
    const { house, agent } = await furnished()
    const [loud, quiet, alone] = [
      await hearing(house),
      await hearing(house),
      await hearing(house, '/mcp/south'),
    ]
    await loud.client.setLoggingLevel('info')
    await expect.poll(async () => (await askedOf(agent, 'south')).level).toBe('info')
    await agent.callTool({ name: 'south__log' })
    await expect
      .poll(() => loud.heard.logs)
      .toEqual([
        { level: 'info', logger: 'south/desk', data: 'info' },
        { level: 'error', logger: 'south/desk', data: 'error' },
      ])
    // Who has said nothing gets nothing of all, and of one server what it says.
    expect(quiet.heard.logs).toEqual([])
    await expect.poll(() => alone.heard.logs).toHaveLength(3)
    await alone.client.setLoggingLevel('error')
    await agent.callTool({ name: 'south__log' })
    await expect
      .poll(() => alone.heard.logs.slice(3))
      .toEqual([{ level: 'error', logger: 'desk', data: 'error' }])
    await expect(quiet.client.setLoggingLevel('loud' as 'info')).rejects.toMatchObject({ code: -32602 })
  })

  test('is asked for as the keenest wants it, also after a new start, and less when that one is gone', async () => {
    const { house, agent } = await furnished()
    const [keen, calm] = [await hearing(house), await hearing(house)]
    await calm.client.setLoggingLevel('error')
    await keen.client.setLoggingLevel('debug')
    await expect.poll(async () => (await askedOf(agent, 'north')).level).toBe('debug')
    await post(house, '/api/servers/north/restart')
    await expect.poll(async () => (await askedOf(agent, 'north')).level).toBe('debug')
    await endSession(keen.client)
    await expect.poll(async () => (await askedOf(agent, 'north')).level).toBe('error')
  })

  test('comes with the answer to a modern request that asks for it, and with no other', async () => {
    const { house } = await furnished()
    const call = { name: 'south__log', arguments: {} }
    const silent = await (await ask(house, 'tools/call', call)).text()
    expect(silent).not.toContain('notifications/message')
    const loud = await (await ask(house, 'tools/call', call, { [LOG_LEVEL]: 'error' })).text()
    const messages = [...loud.matchAll(/^data: ?(.+)$/gm)].map(([, data]) => JSON.parse(data ?? ''))
    expect(messages).toMatchObject([
      { method: 'notifications/message', params: { level: 'error', logger: 'south/desk' } },
      { id: 0, result: { resultType: 'complete' } },
    ])
  })
})

describe('a resource that changes', () => {
  test('is told to who watches it, by the name that each of them knows, and its server is asked once', async () => {
    const { house, agent } = await furnished()
    const watchers = [await hearing(house), await hearing(house), await hearing(house, '/mcp/south')]
    const [one, two, alone] = watchers
    await one?.client.subscribeResource({ uri: WRAPPED })
    await two?.client.subscribeResource({ uri: WRAPPED })
    await alone?.client.subscribeResource({ uri: SHARED })
    const other = await hearing(house)
    await other.client.subscribeResource({ uri: SHARED })
    expect((await askedOf(agent, 'south')).subscribes).toEqual([SHARED])
    expect((await askedOf(agent, 'north')).subscribes).toEqual([SHARED])
    await agent.callTool({ name: 'south__touch', arguments: { uri: SHARED } })
    await agent.callTool({ name: 'south__touch', arguments: { uri: 'book://south/one' } })
    await expect
      .poll(() => watchers.map(({ heard }) => heard.updates))
      .toEqual([[WRAPPED], [WRAPPED], [SHARED]])
    await agent.callTool({ name: 'north__touch', arguments: { uri: `${SHARED}/chapter` } })
    await expect.poll(() => other.heard.updates).toEqual([`${SHARED}/chapter`])

    await one?.client.unsubscribeResource({ uri: WRAPPED })
    await endSession(two?.client)
    expect((await askedOf(agent, 'south')).unsubscribes).toEqual([])
    await endSession(alone?.client)
    await expect.poll(async () => (await askedOf(agent, 'south')).unsubscribes).toEqual([SHARED])
    await agent.callTool({ name: 'south__touch', arguments: { uri: SHARED } })
    expect(one?.heard.updates).toEqual([WRAPPED])
  })

  test('is watched again after its server was started anew, and cannot be where there is none', async () => {
    const { house, agent } = await furnished()
    const { client, heard } = await hearing(house)
    await client.subscribeResource({ uri: 'book://north/one' })
    await post(house, '/api/servers/north/restart')
    await expect.poll(async () => (await askedOf(agent, 'north')).subscribes).toEqual(['book://north/one'])
    await agent.callTool({ name: 'north__touch', arguments: { uri: 'book://north/one' } })
    await expect.poll(() => heard.updates).toEqual(['book://north/one'])
    await expect(client.subscribeResource({ uri: 'no://such' })).rejects.toMatchObject({ code: -32002 })
  })

  test('is told to a modern agent that listens, which hears first what it will hear', async () => {
    const { house, agent } = await furnished()
    const asked = { resourceSubscriptions: [WRAPPED, 'no://such'], promptsListChanged: true }
    const messages = await listening(house, asked)
    expect(messages[0]).toMatchObject({
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { resourceSubscriptions: [WRAPPED], promptsListChanged: true } },
    })
    await expect.poll(async () => (await askedOf(agent, 'south')).subscribes).toEqual([SHARED])
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

describe('lists that change', () => {
  test('leave out what cannot be told apart, and the log names it once', async () => {
    const { house } = await furnished()
    const lines = async () =>
      (await house.inject('/api/logs?server_id=south&search=offered')).json<{ items: object[] }>().items
    await expect
      .poll(lines)
      .toMatchObject([{ server_id: 'south', data: { kind: 'resource_template', name: 'book://any/{id}' } }])
  })

  test('are told once to everybody who is with all servers, and are the new ones then', async () => {
    const { house, agent } = await furnished()
    const { heard } = await hearing(house)
    const messages = await listening(house, { promptsListChanged: true, resourcesListChanged: true })
    await silence(heard.lists)
    await agent.callTool({ name: 'north__grow' })
    const both = ['notifications/prompts/list_changed', 'notifications/resources/list_changed']
    await expect.poll(() => [...new Set(heard.lists)].sort()).toEqual(both)
    await expect.poll(() => [...new Set(messages.slice(1).map(({ method }) => method))].sort()).toEqual(both)
    const { prompts } = await agent.listPrompts()
    expect(prompts.map(({ name }) => name)).toEqual(['north__greet', 'north__more_1', 'south__greet'])
    expect(JSON.stringify((await modern(house, 'resources/list')).result)).toContain('book://north/more/2')
  })

  test('are told when a server goes that had something, and not when one comes that has nothing', async () => {
    const { house } = await furnished()
    const { heard } = await hearing(house)
    await silence(heard.lists)
    await post(house, '/api/servers', definition('echo'))
    await post(house, '/api/servers/echo/start')
    await until(house, 'echo', ({ status }) => status === 'running')
    expect(heard.lists).toEqual([])
    await post(house, '/api/servers/south/stop')
    await house.inject({ method: 'DELETE', url: '/api/servers/south', headers: { 'x-svc-token': TOKEN } })
    await expect
      .poll(() => [...heard.lists].sort())
      .toEqual(['notifications/prompts/list_changed', 'notifications/resources/list_changed'])
  })
})

/** What the start of the servers has changed is told a moment after it can be seen. */
async function silence(heard: unknown[]): Promise<void> {
  let [since, count] = [performance.now(), heard.length]
  const quietMs = () => {
    if (heard.length !== count) [since, count] = [performance.now(), heard.length]
    return performance.now() - since
  }
  await expect.poll(quietMs, { timeout: 10_000 }).toBeGreaterThan(500)
  heard.length = 0
}

async function endSession(client: Client | undefined): Promise<void> {
  const { transport } = client ?? {}
  await (transport as { terminateSession?: () => Promise<void> } | undefined)?.terminateSession?.()
}
