import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Exchange, LegacyAgent, textIn } from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { openTestService } from '../../../test/support/test-service.ts'

async function setUp() {
  const service = await openTestService()
  await register(service, 'patient')
  await post(service, '/api/servers/patient/start')
  const key = await newKey(service)
  return { service, endpoint: { address: service.address, key, path: '/mcp/patient' } }
}

/** Waits until the server holds this many calls. */
const held = (agent: LegacyAgent, count: number) =>
  expect.poll(async () => textIn(await agent.call('held').responded())).toBe(String(count))

const progressIn = ({ messages }: Exchange) =>
  messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params?.progress)

const isAnnouncement = ({ data }: { data: string }): boolean => data.includes('list_changed')

describe('event ids', () => {
  test('with protocol version 2025-11-25 each stream starts with an empty event that has an id', async () => {
    const { endpoint } = await setUp()
    const agent = await LegacyAgent.open(endpoint)
    const streams = [agent.listen(), agent.call('hold', { steps: 2 }, 0), agent.call('hold', { steps: 1 }, 1)]
    // The start of the server may be announced on the first one.
    const counts = () => streams.map(({ events }) => events.filter((each) => !isAnnouncement(each)).length)
    await expect.poll(counts).toEqual([1, 3, 2])
    for (const { events } of streams) {
      expect(events[0]).toEqual({ id: expect.stringMatching(/^\d+-\d+$/), retry: '1000', data: '' })
      const [first = ''] = events.map(({ id = '' }) => id.split('-')[0])
      expect(events.every(({ id }) => id?.startsWith(`${first}-`))).toBe(true)
    }
    const ids = streams.flatMap(({ events }) => events.map(({ id }) => id))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('with older protocol versions events have ids, and no event is empty', async () => {
    const { endpoint } = await setUp()
    const agent = await LegacyAgent.open(endpoint, '2025-06-18')
    const call = agent.call('hold', { steps: 1 }, 0)
    await expect.poll(() => call.events).toHaveLength(1)
    expect(call.events[0]).toMatchObject({ id: expect.stringMatching(/^1-\d+$/), retry: undefined })
    const getStream = agent.listen()
    await expect.poll(() => getStream.status).toBe(200)
    // The start of the server may be announced here.
    expect(getStream.events.filter(({ data }) => data === '')).toEqual([])
  })

  test('a response without earlier notifications is plain JSON', async () => {
    const { endpoint } = await setUp()
    const agent = await LegacyAgent.open(endpoint)
    const call = agent.call('held')
    await call.closed()
    expect(call.type).toContain('application/json')
  })
})

describe('lost connections', () => {
  test('a lost connection does not cancel the call, and the response arrives on the resumed stream', async () => {
    const { endpoint } = await setUp()
    const agent = await LegacyAgent.open(endpoint)
    const call = agent.call('hold', { steps: 1, after: 2 }, 0)
    await expect.poll(() => call.events).toHaveLength(2)
    call.disconnect()
    const resumed = agent.listen(call.events.at(-1)?.id)
    await expect.poll(() => resumed.status).toBe(200)
    await agent.call('go').responded()
    expect(textIn(await resumed.responded())).toBe('let go')
    await resumed.closed()
    expect(resumed.response?.id).toBe(call.requestId)
    expect(progressIn(resumed)).toEqual([2, 3])
    expect(textIn(await agent.call('cancelled').responded())).toBe('0')
  })

  test('a resumed stream replays all events after the last one that the client received', async () => {
    const { endpoint } = await setUp()
    const agent = await LegacyAgent.open(endpoint)
    const call = agent.call('hold', { steps: 3, after: 1 }, 0)
    await expect.poll(() => call.events).toHaveLength(4)
    call.disconnect()
    await held(agent, 1)
    await agent.call('go').responded()
    await held(agent, 0)
    const resumed = agent.listen(call.events[1]?.id)
    await resumed.closed()
    expect(progressIn(resumed)).toEqual([2, 3, 4])
    expect(textIn(resumed.response ?? {})).toBe('let go')
    const fromStart = agent.listen(call.events[0]?.id)
    await fromStart.closed()
    expect(progressIn(fromStart)).toEqual([1, 2, 3, 4])
  })

  test('an ended stream without missed events is not resumed, and neither is an unknown one', async () => {
    const { endpoint } = await setUp()
    const agent = await LegacyAgent.open(endpoint)
    const call = agent.call('hold', { steps: 1 }, 0)
    await held(agent, 1)
    await agent.call('go').responded()
    await call.closed()
    const status = async (id: string | undefined) => {
      const resumed = agent.listen(id)
      await resumed.closed()
      return resumed.status
    }
    expect(await status(call.events.at(-1)?.id)).toBe(405)
    expect(await status('7-1')).toBe(400)
    expect(await status('nonsense')).toBe(400)
    const other = await LegacyAgent.open(endpoint)
    const foreign = other.listen(call.events.at(-2)?.id)
    await foreign.closed()
    expect(foreign.status).toBe(400)
  })

  test('the GET stream resumes with the missed notifications, and only on the newest connection', async () => {
    const { endpoint } = await setUp()
    const [agent, other] = [await LegacyAgent.open(endpoint), await LegacyAgent.open(endpoint)]
    const logDataIn = ({ messages }: Exchange) =>
      messages.flatMap(({ method, params }) =>
        method === 'notifications/patient/said' ? [params?.data] : [],
      )
    const say = (data: string) => other.call('say', { data }).responded()
    const first = agent.listen()
    await expect.poll(() => first.status).toBe(200)
    await say('one')
    await expect.poll(() => logDataIn(first)).toEqual(['one'])
    first.disconnect()
    await say('two')
    const second = agent.listen(first.events.at(-1)?.id)
    await expect.poll(() => logDataIn(second)).toEqual(['two'])
    const third = agent.listen()
    await second.closed()
    await say('three')
    await expect.poll(() => logDataIn(third)).toEqual(['three'])
    expect(logDataIn(second)).toEqual(['two'])
  })
})

describe('the client of the MCP SDK', () => {
  const connect = async (
    { address, key, path }: { address: string; key: string; path: string },
    more: ConstructorParameters<typeof StreamableHTTPClientTransport>[1] = {},
  ) => {
    const client = new Client({ name: 'test', version: '1' })
    const transport = new StreamableHTTPClientTransport(new URL(address + path), {
      requestInit: { headers: { authorization: `Bearer ${key}` } },
      ...more,
    })
    await client.connect(transport)
    onTestFinished(() => client.close())
    return { client, transport }
  }
  const call = { method: 'tools/call' as const, params: { name: 'hold', arguments: { steps: 1 } } }

  test('an SDK client that closes during a call can be replaced by one that resumes with its token', async () => {
    const { endpoint } = await setUp()
    const { client, transport } = await connect(endpoint)
    let token: string | undefined
    const lost = client.request(call, CallToolResultSchema, {
      onprogress: () => {},
      onresumptiontoken: (given: string) => {
        token = given
      },
    })
    lost.catch(() => {})
    await expect.poll(() => token).toBeDefined()
    const { sessionId, protocolVersion } = transport
    await client.close()
    const again = await connect(endpoint, sessionId === undefined ? {} : { sessionId })
    again.transport.setProtocolVersion(protocolVersion ?? '')
    const agent = await LegacyAgent.open(endpoint)
    await agent.call('go').responded()
    const result = await again.client.request(call, CallToolResultSchema, { resumptionToken: token ?? '' })
    expect(textIn({ result })).toBe('let go')
  })

  test('an SDK client whose connection breaks reconnects, and its call succeeds', async () => {
    const { endpoint } = await setUp()
    let breakConnection: (() => void) | undefined
    const breaking: typeof fetch = async (url, init) => {
      const reply = await fetch(url, init)
      const isCall = String(init?.body).includes('"hold"') && reply.body
      if (!isCall) return reply
      const broken = new TransformStream({
        start(controller) {
          breakConnection = () => controller.error(new Error('broken'))
        },
      })
      return new Response(reply.body?.pipeThrough(broken), reply)
    }
    const { client } = await connect(endpoint, { fetch: breaking })
    const steps: number[] = []
    const result = client.callTool(call.params, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    })
    await expect.poll(() => steps).toEqual([1])
    breakConnection?.()
    const agent = await LegacyAgent.open(endpoint)
    await agent.call('go').responded()
    expect(textIn({ result: { ...(await result) } })).toBe('let go')
  })
})
