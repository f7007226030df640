import { describe, expect, test } from 'vitest'
import { type Exchange, LegacyAgent } from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { AUTHORISED, type House, openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'
import { NotificationRateLimit } from '../notify/notification-rate-limit.ts'

async function furnished() {
  const house = await openHouse()
  await register(house, 'patient')
  await post(house, '/api/servers/patient/start')
  const key = await newKey(house)
  const place = { address: house.address, key, path: '/mcp/patient' }
  const agent = await LegacyAgent.open(place)
  // Of all servers together nothing is heard that nobody asked for, so this one hears only its answers.
  const talker = await LegacyAgent.open({ ...place, path: '/mcp' })
  const ask = (tool: string, args: object = {}) => talker.call(`patient__${tool}`, args).answered()
  return { house, agent, ask }
}

const warnings = async (house: House, about: string) => {
  const { items } = (
    await house.inject({ url: '/api/logs?level=warn&limit=1000', headers: AUTHORISED })
  ).json<{ items: { message: string; data: { messages: number } }[] }>()
  return items.filter(({ message }) => message.includes(about))
}

const notes = ({ messages }: Exchange) => messages.filter(({ method }) => method === 'notifications/message')

describe('an agent that does not read', () => {
  test('misses what was said meanwhile, which the log says, and hears the rest when it reads again', async () => {
    const { house, agent, ask } = await furnished()
    const stream = agent.listen(undefined, true)
    await expect.poll(() => stream.status).toBe(200)
    await ask('flood', { count: 400, bytes: 64 * 1024 })
    await expect.poll(() => warnings(house, 'reads too slowly')).toHaveLength(1)
    stream.read()
    await expect.poll(() => notes(stream).length, { timeout: 10_000 }).toBeGreaterThan(1)
    await ask('say', { data: 'still here' })
    await expect.poll(() => notes(stream).at(-1)?.params?.data, { timeout: 10_000 }).toBe('still here')
    expect(notes(stream).length).toBeLessThan(400)
  }, 30_000)

  test('is let go of when too much lies there for it', async () => {
    const { agent, ask } = await furnished()
    const stream = agent.listen(undefined, true)
    await expect.poll(() => stream.status).toBe(200)
    await ask('flood', { count: 8, bytes: 9 * 1024 * 1024 })
    stream.read()
    await stream.over()
    expect(notes(stream).length).toBeLessThan(8)
  }, 30_000)
})

describe('a server that floods', () => {
  test('is heard a thousand times a second, and the log says how much was left out', async () => {
    const { house, agent, ask } = await furnished()
    const stream = agent.listen()
    await expect.poll(() => stream.status).toBe(200)
    const startedAt = performance.now()
    await ask('flood', { count: 20_000 })
    const tookS = (performance.now() - startedAt) / 1000
    await ask('held')
    await expect.poll(() => warnings(house, 'the server sends too many')).not.toHaveLength(0)
    await expect.poll(() => notes(stream).length).toBeGreaterThanOrEqual(1000)
    expect(notes(stream).length).toBeLessThanOrEqual(1000 * (tookS + 1))
    await ask('say', { data: 'later' })
    await expect
      .poll(
        async () => {
          const left = (await warnings(house, 'the server sends too many')).map(({ data }) => data.messages)
          return left.reduce((sum, count) => sum + count, 0) + notes(stream).length
        },
        { timeout: 10_000 },
      )
      .toBeGreaterThanOrEqual(20_000)
  }, 30_000)

  test('gets its thousand back within a second, and costs nobody else', () => {
    let now = 0
    const left: [string, number][] = []
    const cap = new NotificationRateLimit(
      () => now,
      (server, count) => left.push([server, count]),
    )
    const passed = (server: string, times: number) =>
      Array.from({ length: times }, () => cap.take(server)).filter(Boolean).length
    expect(passed('loud', 1500)).toBe(1000)
    expect(passed('quiet', 10)).toBe(10)
    now += 250
    expect(passed('loud', 1500)).toBe(250)
    expect(left).toEqual([['loud', 1]])
  })
})
