import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import { describe, expect, onTestFinished, test } from 'vitest'
import { type Exchange, LegacyAgent, textIn } from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'

async function furnished() {
  const house = await openHouse()
  await register(house, 'patient')
  await post(house, '/api/servers/patient/start')
  const key = await newKey(house)
  return { house, place: { address: house.address, key, path: '/mcp/patient' } }
}

/** Until so many calls are held by the server. */
const held = (agent: LegacyAgent, count: number) =>
  expect.poll(async () => textIn(await agent.call('held').answered()), { timeout: 5000 }).toBe(String(count))

const progressIn = ({ messages }: Exchange) =>
  messages.filter(({ method }) => method === 'notifications/progress').map(({ params }) => params?.progress)

describe('ids of events', () => {
  test('each stream of the newest old revision begins with an event that only tells its id', async () => {
    const { place } = await furnished()
    const agent = await LegacyAgent.open(place)
    const streams = [agent.listen(), agent.call('hold', { steps: 2 }, 0), agent.call('hold', { steps: 1 }, 1)]
    await expect.poll(() => streams.map(({ events }) => events.length)).toEqual([1, 3, 2])
    for (const { events } of streams) {
      expect(events[0]).toEqual({ id: expect.stringMatching(/^\d+-\d+$/), retry: '1000', data: '' })
      const [first = ''] = events.map(({ id = '' }) => id.split('-')[0])
      expect(events.every(({ id }) => id?.startsWith(`${first}-`))).toBe(true)
    }
    const ids = streams.flatMap(({ events }) => events.map(({ id }) => id))
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('an older agent gets ids, and no event without a message', async () => {
    const { place } = await furnished()
    const agent = await LegacyAgent.open(place, '2025-06-18')
    const call = agent.call('hold', { steps: 1 }, 0)
    await expect.poll(() => call.events).toHaveLength(1)
    expect(call.events[0]).toMatchObject({ id: expect.stringMatching(/^1-\d+$/), retry: undefined })
    const standing = agent.listen()
    await expect.poll(() => standing.status).toBe(200)
    expect(standing.events).toEqual([])
  })

  test('an answer before which nothing was said is plain JSON', async () => {
    const { place } = await furnished()
    const agent = await LegacyAgent.open(place)
    const call = agent.call('held')
    await call.over()
    expect(call.type).toContain('application/json')
  })
})

describe('a connection that broke', () => {
  test('does not cancel: the answer comes over the stream that is taken up again', async () => {
    const { place } = await furnished()
    const agent = await LegacyAgent.open(place)
    const call = agent.call('hold', { steps: 1, after: 2 }, 0)
    await expect.poll(() => call.events).toHaveLength(2)
    call.break()
    const resumed = agent.listen(call.events.at(-1)?.id)
    await expect.poll(() => resumed.status).toBe(200)
    await agent.call('go').answered()
    expect(textIn(await resumed.answered())).toBe('let go')
    await resumed.over()
    expect(resumed.answer?.id).toBe(call.requestId)
    expect(progressIn(resumed)).toEqual([2, 3])
    expect(textIn(await agent.call('cancelled').answered())).toBe('0')
  })

  test('misses nothing: what was said meanwhile is said again, from the event that was heard last', async () => {
    const { place } = await furnished()
    const agent = await LegacyAgent.open(place)
    const call = agent.call('hold', { steps: 3, after: 1 }, 0)
    await expect.poll(() => call.events).toHaveLength(4)
    call.break()
    await held(agent, 1)
    await agent.call('go').answered()
    await held(agent, 0)
    const resumed = agent.listen(call.events[1]?.id)
    await resumed.over()
    expect(progressIn(resumed)).toEqual([2, 3, 4])
    expect(textIn(resumed.answer ?? {})).toBe('let go')
    const fromTheStart = agent.listen(call.events[0]?.id)
    await fromTheStart.over()
    expect(progressIn(fromTheStart)).toEqual([1, 2, 3, 4])
  })

  test('of which nothing is missing is not taken up again, and neither is what is not kept', async () => {
    const { place } = await furnished()
    const agent = await LegacyAgent.open(place)
    const call = agent.call('hold', { steps: 1 }, 0)
    await held(agent, 1)
    await agent.call('go').answered()
    await call.over()
    const status = async (id: string | undefined) => {
      const resumed = agent.listen(id)
      await resumed.over()
      return resumed.status
    }
    expect(await status(call.events.at(-1)?.id)).toBe(405)
    expect(await status('7-1')).toBe(400)
    expect(await status('nonsense')).toBe(400)
    const other = await LegacyAgent.open(place)
    const foreign = other.listen(call.events.at(-2)?.id)
    await foreign.over()
    expect(foreign.status).toBe(400)
  })

  test('is no obstacle for the standing stream: it goes on with what it missed, and only over the newest', async () => {
    const { place } = await furnished()
    const [agent, other] = [await LegacyAgent.open(place), await LegacyAgent.open(place)]
    const said = ({ messages }: Exchange) =>
      messages.flatMap(({ method, params }) => (method === 'notifications/message' ? [params?.data] : []))
    const say = (data: string) => other.call('say', { data }).answered()
    const first = agent.listen()
    await expect.poll(() => first.status).toBe(200)
    await say('one')
    await expect.poll(() => said(first)).toEqual(['one'])
    first.break()
    await say('two')
    const second = agent.listen(first.events.at(-1)?.id)
    await expect.poll(() => said(second)).toEqual(['two'])
    const third = agent.listen()
    await second.over()
    await say('three')
    await expect.poll(() => said(third)).toEqual(['three'])
    expect(said(second)).toEqual(['two'])
  })
})

describe('the SDK’s own client', () => {
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

  test('leaves in the middle of a call, and another one with its token gets the answer', async () => {
    const { place } = await furnished()
    const { client, transport } = await connect(place)
    let token: string | undefined
    const lost = client.request(call, CallToolResultSchema, {
      onprogress: () => {},
      onresumptiontoken: (given: string) => {
        token = given
      },
    })
    lost.catch(() => {})
    await expect.poll(() => token, { timeout: 5000 }).toBeDefined()
    const { sessionId, protocolVersion } = transport
    await client.close()
    const again = await connect(place, sessionId === undefined ? {} : { sessionId })
    again.transport.setProtocolVersion(protocolVersion ?? '')
    const agent = await LegacyAgent.open(place)
    await agent.call('go').answered()
    const result = await again.client.request(call, CallToolResultSchema, { resumptionToken: token ?? '' })
    expect(textIn({ result })).toBe('let go')
  })

  test('comes back by itself when its connection breaks, and its call succeeds', async () => {
    const { place } = await furnished()
    let breakIt: (() => void) | undefined
    const breaking: typeof fetch = async (url, init) => {
      const reply = await fetch(url, init)
      const isCall = String(init?.body).includes('"hold"') && reply.body
      if (!isCall) return reply
      const broken = new TransformStream({
        start(controller) {
          breakIt = () => controller.error(new Error('broken'))
        },
      })
      return new Response(reply.body?.pipeThrough(broken), reply)
    }
    const { client } = await connect(place, { fetch: breaking })
    const steps: number[] = []
    const result = client.callTool(call.params, undefined, {
      onprogress: ({ progress }) => steps.push(progress),
    })
    await expect.poll(() => steps, { timeout: 5000 }).toEqual([1])
    breakIt?.()
    const agent = await LegacyAgent.open(place)
    await agent.call('go').answered()
    expect(textIn({ result: { ...(await result) } })).toBe('let go')
  })
})
