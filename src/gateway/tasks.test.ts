import { describe, expect, onTestFinished, test } from 'vitest'
import { startPipe } from '../../test/conformance/pipe.mjs'
import { AnsweringAgent } from '../../test/support/answering-agent.ts'
import { type Exchange, LegacyAgent, modernRequest, textIn } from '../../test/support/event-streams.ts'
import { newKey } from '../../test/support/gateway.ts'
import { definition, get, post } from '../../test/support/running-servers.ts'
import { openTestService } from '../../test/support/test-service.ts'

const TASKS = 'io.modelcontextprotocol/tasks'
const WITH_TASKS = { elicitation: {}, extensions: { [TASKS]: {}, 'com.example/other': {} } }

async function setUp(kind: string, more: object = {}, args: readonly string[] = []) {
  const service = await openTestService()
  const added = await post(service, '/api/servers', { ...definition(kind, args), name: kind, ...more })
  expect(added.statusCode, added.body).toBe(201)
  await post(service, `/api/servers/${kind}/start`)
  const endpoint = (path: string) => ({ address: service.address, key, path })
  const key = await newKey(service)
  return { service, key, endpoint }
}

describe('the tasks extension of 2026-07-28', () => {
  const open = async (more: object = {}, args: readonly string[] = []) => {
    const { service, endpoint } = await setUp('conformance', more, args)
    const send =
      (path: string) =>
      (method: string, params: Record<string, unknown> = {}, capabilities: object = WITH_TASKS) =>
        modernRequest(endpoint(path), method, params, { capabilities, id: 'mine' })
    return { service, send, alone: send('/mcp/conformance'), together: send('/mcp') }
  }
  const openHttp = async () => {
    const pipe = await startPipe()
    onTestFinished(() => pipe.close())
    const service = await openTestService()
    await post(service, '/api/http-servers', { name: 'far', url: pipe.url })
    await post(service, '/api/http-servers/far/tools/greet/call', {}) // the first call connects to the server
    const endpoint = { address: service.address, key: await newKey(service), path: '/mcp/far' }
    const alone = (method: string, params: Record<string, unknown>) =>
      modernRequest(endpoint, method, params, { capabilities: WITH_TASKS, id: 'mine' })
    return { alone }
  }
  const slow = (seconds: number) => ({ name: 'slow_compute', arguments: { seconds, label: 'it' } })
  const taskIn = async (call: Exchange) => String((await call.responded()).result?.taskId)
  const announced = async (exchange: Exchange) =>
    (await exchange.responded()).result?.capabilities as Record<string, unknown>

  test.each([
    ['modern', ['--era=modern']],
    ['both', []],
  ] as const)(
    'server/discover at /mcp/{server_id} announces what a server of the era %s announces, also while it is stopped',
    async (_, args) => {
      const { service, alone } = await open({}, args)
      const expected = {
        ...{ tools: { listChanged: true }, prompts: { listChanged: true } },
        ...{ resources: { subscribe: true, listChanged: true }, logging: {}, completions: {} },
        extensions: { [TASKS]: {} },
      }
      expect(await announced(alone('server/discover'))).toEqual(expected)
      await post(service, '/api/servers/conformance/stop')
      expect(await announced(alone('server/discover'))).toEqual(expected)
      expect((await get(service, 'conformance')).status).toBe('stopped')
      await service.close()
      const again = await openTestService({ home: service.home })
      const path = { address: again.address, key: await newKey(again), path: '/mcp/conformance' }
      expect(await announced(modernRequest(path, 'server/discover'))).toEqual(expected)
    },
  )

  test('Mcp-Name of tasks/get must repeat the id of the task', async () => {
    const { alone } = await open()
    const taskId = await taskIn(alone('tools/call', slow(0)))
    expect((await alone('tasks/get', { taskId }).responded()).result).toMatchObject({ taskId })
    const other = alone('tasks/get', { taskId, name: 'another' })
    expect((await other.responded()).error).toMatchObject({ code: -32020 })
    expect(other.status).toBe(400)
  })

  test.each(['stdio', 'http'])(
    'the status of a task of a server over %s reaches the client that has subscribed to the task, and no other',
    async (kind) => {
      const { alone } = kind === 'http' ? await openHttp() : await open()
      const [first, second] = [
        await taskIn(alone('tools/call', slow(600))),
        await taskIn(alone('tools/call', slow(600))),
      ]
      const subscribe = (taskIds: string[]) =>
        alone('subscriptions/listen', { notifications: { taskIds, toolsListChanged: true } })
      const streams = [subscribe([first]), subscribe([second])]
      const statuses = (stream: Exchange | undefined) =>
        (stream?.messages ?? [])
          .filter(({ method }) => method === 'notifications/tasks')
          .map(({ params }) => [params?.taskId, params?.status, params?._meta])
      const _meta = { 'io.modelcontextprotocol/subscriptionId': 'mine' }
      await expect.poll(() => streams.every(({ messages }) => messages.length > 0)).toBe(true)
      for (const taskId of [first, second]) await alone('tasks/cancel', { taskId }).responded()
      await expect.poll(() => statuses(streams[0])).toEqual([[first, 'cancelled', _meta]])
      await expect.poll(() => statuses(streams[1])).toEqual([[second, 'cancelled', _meta]])
      expect(streams[0]?.messages[0]).toMatchObject({
        method: 'notifications/subscriptions/acknowledged',
        params: { notifications: { toolsListChanged: true, taskIds: [first] }, _meta },
      })
    },
  )

  test("a subscription that the server refuses gets the server's own error, and one ends with its server", async () => {
    const { service, alone } = await open()
    const notifications = { taskIds: ['any'] }
    const refused = await alone('subscriptions/listen', { notifications }, {}).responded()
    expect(refused.error).toMatchObject({
      code: -32021,
      data: { requiredCapabilities: { extensions: { [TASKS]: {} } } },
    })
    const stream = alone('subscriptions/listen', { notifications })
    await expect.poll(() => stream.messages).toHaveLength(1)
    await post(service, '/api/servers/conformance/stop')
    expect((await stream.responded()).result).toMatchObject({ resultType: 'complete' })
    await stream.closed()
  })

  test('at /mcp tasks are neither announced nor offered to servers: a call gets the result itself', async () => {
    const { together } = await open()
    expect(await announced(together('server/discover'))).not.toHaveProperty('extensions')
    const call = { ...slow(0), name: 'conformance__slow_compute' }
    const response = await together('tools/call', call).responded()
    expect(textIn(response)).toBe('Computed it')
    expect(response.result).toMatchObject({ resultType: 'complete' })
    const { error } = await together('tasks/get', { taskId: 'any' }).responded()
    expect(error).toMatchObject({ code: -32601 })
  })
})

describe('tasks as in 2025-11-25', () => {
  const CLIENT = { tasks: { list: {}, cancel: {} } }

  test('a session with a process of its own gets everything: the capability, the task, its status and its result', async () => {
    const { service, endpoint } = await setUp('worker')
    expect((await get(service, 'worker')).sharing_reason).toBe('It announces tasks')
    const agent = await AnsweringAgent.legacy('alice', endpoint('/mcp/worker'), CLIENT)
    expect(agent.initialized.capabilities).toEqual({
      tools: {},
      tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } },
    })
    const { result: list } = await agent.request('tools/list')
    expect(list?.tools).toContainEqual(expect.objectContaining({ execution: { taskSupport: 'required' } }))
    const start = (ms: number) =>
      agent.request('tools/call', { name: 'work', arguments: { ms }, task: { ttl: 60_000 } })
    expect((await start(100)).result).toEqual({
      task: expect.objectContaining({ taskId: 'task-1', status: 'working', ttl: 60_000 }),
    })
    expect((await agent.request('tasks/result', { taskId: 'task-1' })).result).toEqual({
      content: [{ type: 'text', text: 'worked' }],
      _meta: { 'io.modelcontextprotocol/related-task': { taskId: 'task-1' } },
    })
    await start(60_000)
    const cancelled = { taskId: 'task-2', status: 'cancelled' }
    expect((await agent.request('tasks/cancel', { taskId: 'task-2' })).result).toMatchObject(cancelled)
    expect((await agent.request('tasks/get', { taskId: 'task-2' })).result).toMatchObject(cancelled)
    expect((await agent.request('tasks/list')).result?.tasks).toHaveLength(2)
    expect((await agent.request('tasks/get', { taskId: 'none' })).error).toMatchObject({ code: -32602 })
    const other = await AnsweringAgent.legacy('bob', endpoint('/mcp/worker'), CLIENT)
    expect((await other.request('tasks/list')).result?.tasks).toEqual([])
  })

  test('the status of a task reaches the notification stream of its session only', async () => {
    const { endpoint } = await setUp('worker', { sharing: 'per_session' })
    const [alice, bob] = [
      await LegacyAgent.open(endpoint('/mcp/worker'), '2025-11-25', CLIENT),
      await LegacyAgent.open(endpoint('/mcp/worker'), '2025-11-25', CLIENT),
    ]
    const [ofAlice, ofBob] = [alice.listen(), bob.listen()]
    await expect.poll(() => [ofAlice.status, ofBob.status]).toEqual([200, 200])
    const work = { name: 'work', arguments: { ms: 10 }, task: {} }
    await alice.request('tools/call', work).responded()
    const statuses = (stream: Exchange) =>
      stream.messages.filter(({ method }) => method === 'notifications/tasks/status').length
    await expect.poll(() => statuses(ofAlice)).toBe(1)
    await bob.request('tools/call', work).responded()
    await expect.poll(() => statuses(ofBob)).toBe(1)
    expect(statuses(ofAlice)).toBe(1)
  })

  test.each(['/mcp', '/mcp/worker'])(
    'tasks of a shared server are not announced at %s, and the param task is not passed on, so that there are none',
    async (path) => {
      const { endpoint } = await setUp('worker', { sharing: 'shared' })
      const agent = await AnsweringAgent.legacy('alice', endpoint(path), CLIENT)
      expect(agent.initialized.capabilities).toEqual({ tools: { listChanged: true } })
      const name = path === '/mcp' ? 'worker__echo' : 'echo'
      expect(await agent.call(name, {}, { task: { ttl: 1 } })).toBe('{}')
      const { result, error } = await agent.request('tasks/list')
      if (path === '/mcp') expect(error).toMatchObject({ code: -32601 })
      else expect(result?.tasks).toEqual([]) // at /mcp/{server_id} every method reaches the server
    },
  )

  test('a modern client of its own process gets what a legacy server announces, but not the tasks of 2025-11-25', async () => {
    const { endpoint } = await setUp('asker', { sharing: 'per_session' }, ['--tasks'])
    const { result } = await modernRequest(endpoint('/mcp/asker'), 'server/discover').responded()
    expect(result?.capabilities).toEqual({
      ...{ tools: { listChanged: true }, logging: {}, experimental: { vendor: { odd: true } } },
    })
    const method = modernRequest(endpoint('/mcp/asker'), 'vendor/method', { some: 1 })
    expect((await method.responded()).result).toMatchObject({ got: { some: 1 } })
  })
})
