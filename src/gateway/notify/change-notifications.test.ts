import { describe, expect, test } from 'vitest'
import {
  type Endpoint,
  type Exchange,
  LegacyAgent,
  modernRequest,
  textIn,
} from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../../test/support/test-service.ts'
import { KeptBytes, Sessions } from '../sessions/sessions.ts'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const TOOLS = { notifications: { toolsListChanged: true } }

async function setUp() {
  const service = await openTestService()
  await register(service, 'patient')
  await post(service, '/api/servers/patient/start')
  const endpoint = { address: service.address, key: await newKey(service), path: '/mcp' }
  return { service, endpoint }
}

const listen = (endpoint: Endpoint, params: Record<string, unknown>, id: number | string) =>
  modernRequest(endpoint, 'subscriptions/listen', params, { id })

const methods = ({ messages }: Exchange) => messages.map(({ method }) => method)

describe('subscriptions/listen', () => {
  test('a subscriptions/listen request gets only the notifications it asked for, each with its subscription id', async () => {
    const { service, endpoint } = await setUp()
    const [tools, prompts] = [
      listen(endpoint, TOOLS, 0),
      listen(endpoint, { notifications: { promptsListChanged: true } }, 'prompts'),
    ]
    await expect.poll(() => [tools, prompts].every(({ messages }) => messages.length > 0)).toBe(true)
    await register(service, 'noisy')
    await expect.poll(() => methods(tools)).toContain('notifications/tools/list_changed')
    expect(new Set(methods(tools))).toEqual(
      new Set(['notifications/subscriptions/acknowledged', 'notifications/tools/list_changed']),
    )
    expect(methods(prompts)).not.toContain('notifications/tools/list_changed')
    expect(prompts.messages[0]?.params).toMatchObject({ notifications: { promptsListChanged: true } })
    for (const [stream, id] of [
      [tools, 0],
      [prompts, 'prompts'],
    ] as const)
      for (const { params } of stream.messages) expect(params?._meta).toEqual({ [SUBSCRIPTION]: id })
  })

  test('a subscriptions/listen request without notifications is refused', async () => {
    const { endpoint } = await setUp()
    expect((await listen(endpoint, {}, 1).responded()).error).toMatchObject({ code: -32602 })
  })

  test.each([
    ['its key is deleted', 'key'],
    ['the service ends', 'service'],
  ] as const)(
    'a subscriptions/listen request ends with notifications/cancelled and a result when %s',
    async (_, what) => {
      const { service, endpoint } = await setUp()
      const stream = listen(endpoint, TOOLS, 0)
      await expect.poll(() => stream.messages.length).toBeGreaterThan(0)
      if (what === 'service') await service.close()
      else {
        const { items } = (await service.inject({ url: '/api/keys', headers: AUTHORISED })).json()
        await service.inject({ method: 'DELETE', url: `/api/keys/${items[0].id}`, headers: AUTHORISED })
      }
      await stream.closed()
      expect(stream.messages.slice(-2)).toEqual([
        {
          jsonrpc: '2.0',
          method: 'notifications/cancelled',
          params: { requestId: 0, reason: expect.any(String), _meta: { [SUBSCRIPTION]: 0 } },
        },
        { jsonrpc: '2.0', id: 0, result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 0 } } },
      ])
    },
  )

  test('a key can have 32 subscriptions/listen requests at a time', async () => {
    const { endpoint } = await setUp()
    const streams = Array.from({ length: 32 }, (_, id) => listen(endpoint, TOOLS, id))
    await expect.poll(() => streams.filter(({ messages }) => messages.length > 0).length).toBe(32)
    const refused = listen(endpoint, TOOLS, 'more')
    await refused.closed()
    expect(refused.status).toBe(429)
    expect(refused.response?.error?.message).toContain('32')
    streams[0]?.disconnect()
    await expect
      .poll(async () => {
        const again = listen(endpoint, TOOLS, 'again')
        await expect.poll(() => again.status).not.toBe(0)
        return again.status
      })
      .toBe(200)
  })
})

describe('sessions', () => {
  const profile = { capabilities: {}, clientInfo: undefined, protocolVersion: undefined }
  const fields = { agentType: 'cursor', serverId: undefined, version: '2025-11-25', profile }

  test('a key can have 100 sessions, and at the limit the longest idle one ends', async () => {
    let now = 0
    const sessions = new Sessions(
      () => now,
      () => {},
      new KeptBytes(),
    )
    const open = (keyId: string) => {
      now += 1
      return sessions.open({ ...fields, keyId }, 0, { onNote: () => {}, onStarted: () => undefined })
    }
    const other = open('other')
    const own = Array.from({ length: 100 }, () => open('own'))
    const [first, second] = own
    if (first) sessions.find(first.id, first)
    open('own')
    const exists = (session: typeof other | undefined) =>
      session && sessions.find(session.id, session) === session
    expect([first, second, own[2], other].map(exists)).toEqual([true, false, true, true])
  })

  test('a session with a pending request or an open GET stream does not end at the limit', async () => {
    const { endpoint } = await setUp()
    const busy = await LegacyAgent.open(endpoint)
    const call = busy.call('patient__hold')
    const listening = await LegacyAgent.open(endpoint)
    const stream = listening.listen()
    await expect.poll(() => stream.status).toBe(200)
    const idle = await LegacyAgent.open(endpoint)
    for (let more = 0; more < 98; more += 1) await LegacyAgent.open(endpoint)
    const statusOf = async (agent: LegacyAgent) => {
      const call = agent.call('patient__held')
      await call.closed()
      return call.status
    }
    expect(await Promise.all([busy, listening, idle].map(statusOf))).toEqual([200, 200, 404])
    await listening.call('patient__go').responded()
    expect(textIn(await call.responded())).toBe('let go')
  })
})

test('a server request that was lost with the connection is sent again when the agent resumes the stream', async () => {
  const { endpoint } = await setUp()
  const agent = await LegacyAgent.open(endpoint, '2025-11-25', { elicitation: {} })
  const call = agent.call('patient__ask', { questions: 2 }, 0)
  const elicitationIn = ({ messages }: Exchange) =>
    messages.find(({ method }) => method === 'elicitation/create')
  await expect.poll(() => elicitationIn(call)).toBeDefined()
  call.disconnect()
  await call.closed()
  const lastEventId = call.events.find(({ data }) => data.includes('notifications/progress'))?.id
  const resumed = agent.listen(lastEventId)
  await expect.poll(() => elicitationIn(resumed)).toEqual(elicitationIn(call))
  for (let round = 1; round <= 2; round += 1) {
    const request = () =>
      resumed.messages.find(({ params }) => String(params?.message) === `question ${round}`)
    await expect.poll(request).toBeDefined()
    agent.send({ id: request()?.id, result: { action: 'decline' } })
  }
  expect(textIn(await resumed.responded())).toBe(
    JSON.stringify([{ action: 'decline' }, { action: 'decline' }]),
  )
})
