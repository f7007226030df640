import { expect, test } from 'vitest'
import { askModern, type Exchange, LegacyAgent, textIn } from '../../../test/support/event-streams.ts'
import { newKey } from '../../../test/support/gateway.ts'
import { AUTHORISED, type House, openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'

const CANCELLED = { code: -31499, message: 'The request was cancelled' }

async function furnished() {
  const house = await openHouse()
  await register(house, 'patient')
  await post(house, '/api/servers/patient/start')
  const key = await newKey(house, 'cursor')
  const place = { address: house.address, key, path: '/mcp/patient' }
  const watcher = await LegacyAgent.open({ ...place, key: await newKey(house, 'codex') })
  const count = async (tool: 'held' | 'cancelled') => Number(textIn(await watcher.call(tool).answered()))
  return {
    house,
    place,
    /** Until the server holds so many calls. */
    held: (calls: number) => expect.poll(() => count('held'), { timeout: 5000 }).toBe(calls),
    /** Until the server was told of so many. */
    cancelled: (calls: number) => expect.poll(() => count('cancelled'), { timeout: 5000 }).toBe(calls),
    go: () => watcher.call('go').answered(),
  }
}

async function removeKey(house: House, agentType: string) {
  const { items } = (await house.inject({ url: '/api/keys', headers: AUTHORISED })).json<{
    items: { id: string; agent_type: string }[]
  }>()
  const id = items.find(({ agent_type }) => agent_type === agentType)?.id
  await house.inject({ method: 'DELETE', url: `/api/keys/${id}`, headers: AUTHORISED })
}

test('who says that its request is cancelled gets its end at once, and the server is told', async () => {
  const { place, held, cancelled, go } = await furnished()
  const agent = await LegacyAgent.open(place)
  const calls = [agent.call('hold'), agent.call('hold', { steps: 1 }, 0)]
  await held(2)
  for (const { requestId } of calls)
    agent.tell({ method: 'notifications/cancelled', params: { requestId, reason: 'enough' } })
  for (const call of calls) {
    await call.over()
    expect(call.messages.at(-1)).toEqual({ jsonrpc: '2.0', id: call.requestId, error: CANCELLED })
  }
  expect(calls.map(({ type }) => type.split(';')[0])).toEqual(['application/json', 'text/event-stream'])
  await cancelled(2)
  await go() // what the server says now is for nobody
  expect(textIn(await agent.call('held').answered())).toBe('0')
})

test('what is not under way cannot be cancelled, and the greeting neither', async () => {
  const { place, cancelled } = await furnished()
  const agent = await LegacyAgent.open(place)
  for (const requestId of ['hello', 7, null, {}]) {
    const told = agent.tell({ method: 'notifications/cancelled', params: { requestId } })
    await told.over()
    expect(told.status).toBe(202)
  }
  expect(textIn(await agent.call('held').answered())).toBe('0')
  await cancelled(0)
})

test('the end of a session cancels what is under way', async () => {
  const { place, held, cancelled } = await furnished()
  const agent = await LegacyAgent.open(place)
  const call = agent.call('hold', { steps: 1 }, 0)
  await held(1)
  const ended = agent.end()
  await call.over()
  expect(call.answer?.error).toEqual(CANCELLED)
  await ended.over()
  expect(ended.status).toBe(204)
  await cancelled(1)
})

test('an agent of the modern era cancels by hanging up', async () => {
  const { place, held, cancelled } = await furnished()
  const calls = [0, 1].map((progressToken) =>
    askModern(place, 'tools/call', { name: 'hold', arguments: { steps: progressToken } }, { progressToken }),
  )
  await held(2)
  for (const call of calls) call.break()
  await cancelled(2)
})

test('a key that is taken away cancels what is under way, in both eras', async () => {
  const { house, place, held, cancelled } = await furnished()
  const agent = await LegacyAgent.open(place)
  const calls: Exchange[] = [
    agent.call('hold'),
    askModern(place, 'tools/call', { name: 'hold', arguments: {} }, { id: 'modern' }),
  ]
  await held(2)
  await removeKey(house, 'cursor')
  for (const call of calls) {
    await call.over()
    expect(call.answer?.error).toEqual(CANCELLED)
  }
  await cancelled(2)
})
