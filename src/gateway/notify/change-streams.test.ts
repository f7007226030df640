import { describe, expect, test } from 'vitest'
import { askModern, type Exchange, LegacyAgent, textIn } from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { AUTHORISED, openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'
import { Sessions } from '../sessions/sessions.ts'

const SUBSCRIPTION = 'io.modelcontextprotocol/subscriptionId'
const TOOLS = { notifications: { toolsListChanged: true } }

async function furnished() {
  const house = await openHouse()
  await register(house, 'patient')
  await post(house, '/api/servers/patient/start')
  const place = { address: house.address, key: await newKey(house), path: '/mcp' }
  return { house, place }
}

const listen = (
  place: Parameters<typeof askModern>[0],
  params: Record<string, unknown>,
  id: number | string,
) => askModern(place, 'subscriptions/listen', params, { id })

const methods = ({ messages }: Exchange) => messages.map(({ method }) => method)

describe('who listens in the modern era', () => {
  test('hears what it asked for and nothing else, and every message says for which request it is', async () => {
    const { house, place } = await furnished()
    const [tools, prompts] = [
      listen(place, TOOLS, 0),
      listen(place, { notifications: { promptsListChanged: true } }, 'prompts'),
    ]
    await expect.poll(() => [tools, prompts].every(({ messages }) => messages.length > 0)).toBe(true)
    await register(house, 'noisy')
    await expect.poll(() => methods(tools), { timeout: 5000 }).toContain('notifications/tools/list_changed')
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

  test('has to say what it wants to hear', async () => {
    const { place } = await furnished()
    expect((await listen(place, {}, 1).answered()).error).toMatchObject({ code: -32602 })
  })

  test.each([
    ['its key is taken away', 'key'],
    ['the service ends', 'service'],
  ] as const)('is told the end in both ways of the specification when %s', async (_, what) => {
    const { house, place } = await furnished()
    const stream = listen(place, TOOLS, 0)
    await expect.poll(() => stream.messages.length).toBeGreaterThan(0)
    if (what === 'service') await house.close()
    else {
      const { items } = (await house.inject({ url: '/api/keys', headers: AUTHORISED })).json()
      await house.inject({ method: 'DELETE', url: `/api/keys/${items[0].id}`, headers: AUTHORISED })
    }
    await stream.over()
    expect(stream.messages.slice(-2)).toEqual([
      {
        jsonrpc: '2.0',
        method: 'notifications/cancelled',
        params: { requestId: 0, reason: expect.any(String), _meta: { [SUBSCRIPTION]: 0 } },
      },
      { jsonrpc: '2.0', id: 0, result: { resultType: 'complete', _meta: { [SUBSCRIPTION]: 0 } } },
    ])
  })

  test('may do so 32 times at once', async () => {
    const { place } = await furnished()
    const streams = Array.from({ length: 32 }, (_, id) => listen(place, TOOLS, id))
    await expect.poll(() => streams.filter(({ messages }) => messages.length > 0).length).toBe(32)
    const refused = listen(place, TOOLS, 'more')
    await refused.over()
    expect(refused.status).toBe(429)
    expect(refused.answer?.error?.message).toContain('32')
    streams[0]?.break()
    await expect
      .poll(async () => {
        const again = listen(place, TOOLS, 'again')
        await expect.poll(() => again.status).not.toBe(0)
        return again.status
      })
      .toBe(200)
  })
})

describe('sessions', () => {
  const facts = { agentType: 'cursor', serverId: undefined, version: '2025-11-25', capabilities: {} }

  test('of one key are a hundred at most: the one that was idle for the longest time goes', async () => {
    let now = 0
    const sessions = new Sessions(() => now)
    const open = (keyId: string) => {
      now += 1
      return sessions.open({ ...facts, keyId })
    }
    const other = open('other')
    const own = Array.from({ length: 100 }, () => open('own'))
    const [first, second] = own
    if (first) sessions.find(first.id, first)
    open('own')
    const isThere = (session: typeof other | undefined) =>
      session && sessions.find(session.id, session) === session
    expect([first, second, own[2], other].map(isThere)).toEqual([true, false, true, true])
  })

  test('that have something under way stay', async () => {
    const { place } = await furnished()
    const busy = await LegacyAgent.open(place)
    const call = busy.call('patient__hold')
    const listening = await LegacyAgent.open(place)
    const stream = listening.listen()
    await expect.poll(() => stream.status).toBe(200)
    const idle = await LegacyAgent.open(place)
    for (let more = 0; more < 98; more += 1) await LegacyAgent.open(place)
    const statusOf = async (agent: LegacyAgent) => {
      const asked = agent.call('patient__held')
      await asked.over()
      return asked.status
    }
    expect(await Promise.all([busy, listening, idle].map(statusOf))).toEqual([200, 200, 404])
    await listening.call('patient__go').answered()
    expect(textIn(await call.answered())).toBe('let go')
  }, 20_000)
})

test('a question that was not heard because the connection broke is asked again when the agent comes back', async () => {
  const { place } = await furnished()
  const agent = await LegacyAgent.open(place, '2025-11-25', { elicitation: {} })
  const call = agent.call('patient__ask', { questions: 2 }, 0)
  const question = ({ messages }: Exchange) => messages.find(({ method }) => method === 'elicitation/create')
  await expect.poll(() => question(call)).toBeDefined()
  call.break()
  await call.over()
  const heardLast = call.events.find(({ data }) => data.includes('notifications/progress'))?.id
  const resumed = agent.listen(heardLast)
  await expect.poll(() => question(resumed)).toEqual(question(call))
  for (let round = 1; round <= 2; round += 1) {
    const asked = () => resumed.messages.find(({ params }) => String(params?.message) === `question ${round}`)
    await expect.poll(asked).toBeDefined()
    agent.tell({ id: asked()?.id, result: { action: 'decline' } })
  }
  expect(textIn(await resumed.answered())).toBe(
    JSON.stringify([{ action: 'decline' }, { action: 'decline' }]),
  )
})
