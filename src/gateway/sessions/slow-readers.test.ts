import { describe, expect, test } from 'vitest'
import { type Exchange, LegacyAgent } from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import { NotificationRateLimit } from '../notify/notification-fanout.ts'

async function setUp() {
  const service = await openTestService()
  await register(service, 'patient')
  await post(service, '/api/servers/patient/start')
  const key = await newKey(service)
  const endpoint = { address: service.address, key, path: '/mcp/patient' }
  const agent = await LegacyAgent.open(endpoint)
  // At /mcp, an agent without a log level gets no log messages, only responses.
  const caller = await LegacyAgent.open({ ...endpoint, path: '/mcp' })
  const call = (tool: string, args: object = {}) => caller.call(`patient__${tool}`, args).responded()
  return { service, agent, call }
}

const warnings = async (service: TestService, about: string) => {
  const { items } = (
    await service.inject({ url: '/api/logs?level=warn&limit=1000', headers: AUTHORISED })
  ).json<{ items: { message: string; data: { messages: number } }[] }>()
  return items.filter(({ message }) => message.includes(about))
}

const logMessagesIn = ({ messages }: Exchange) =>
  messages.filter(({ method }) => method === 'notifications/patient/said')

describe('agents that stop reading', () => {
  test('notifications for an agent that does not read are dropped and logged, and later ones arrive once it reads again', async () => {
    const { service, agent, call } = await setUp()
    const stream = agent.listen(undefined, true)
    await expect.poll(() => stream.status).toBe(200)
    await call('flood', { count: 400, bytes: 64 * 1024 })
    await expect.poll(() => warnings(service, 'answers too slowly')).not.toHaveLength(0) // one for each second
    stream.read()
    await expect.poll(() => logMessagesIn(stream).length).toBeGreaterThan(1)
    // Until it has read enough for a further message.
    const lastAfterSay = async () => {
      await call('say', { data: 'still here' })
      return logMessagesIn(stream).at(-1)?.params?.data === 'still here'
    }
    await expect.poll(lastAfterSay, { interval: 200 }).toBe(true)
    expect(logMessagesIn(stream).length).toBeLessThan(400)
  })

  test('an agent with too many unread bytes is disconnected', async () => {
    const { agent, call } = await setUp()
    const stream = agent.listen(undefined, true)
    await expect.poll(() => stream.status).toBe(200)
    await call('flood', { count: 8, bytes: 9 * 1024 * 1024 })
    stream.read()
    await stream.closed()
    expect(logMessagesIn(stream).length).toBeLessThan(8)
  })
})

describe('servers that send too many notifications', () => {
  test('at most 1000 notifications of a server per second are delivered, and the others are counted in the log', async () => {
    const { service, agent, call } = await setUp()
    const stream = agent.listen()
    await expect.poll(() => stream.status).toBe(200)
    const startedAt = performance.now()
    await call('flood', { count: 20_000 })
    const seconds = (performance.now() - startedAt) / 1000
    await call('held')
    await expect.poll(() => warnings(service, 'the server sends too many')).not.toHaveLength(0)
    await expect.poll(() => logMessagesIn(stream).length).toBeGreaterThanOrEqual(1000)
    expect(logMessagesIn(stream).length).toBeLessThanOrEqual(1000 * (seconds + 1))
    await call('say', { data: 'later' })
    await expect
      .poll(async () => {
        const counts = (await warnings(service, 'the server sends too many')).map(({ data }) => data.messages)
        return counts.reduce((sum, count) => sum + count, 0) + logMessagesIn(stream).length
      })
      .toBeGreaterThanOrEqual(20_000)
  })

  test('the notification limit of a server refills within a second and does not affect other servers', () => {
    let now = 0
    const dropped: [string, number][] = []
    const rateLimit = new NotificationRateLimit(
      () => now,
      (server, count) => dropped.push([server, count]),
    )
    const passed = (server: string, times: number) =>
      Array.from({ length: times }, () => rateLimit.take(server)).filter(Boolean).length
    expect(passed('loud', 1500)).toBe(1000)
    expect(passed('quiet', 10)).toBe(10)
    now += 250
    expect(passed('loud', 1500)).toBe(250)
    expect(dropped).toEqual([['loud', 1]])
  })
})
