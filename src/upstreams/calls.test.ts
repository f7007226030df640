import { once } from 'node:events'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { Agent, newKey } from '../../test/support/gateway.ts'
import { openHouse } from '../../test/support/house.ts'
import { post, register } from '../../test/support/running.ts'

const CALL = ['agent_type', 'call_id', 'request_id', 'server_id', 'tool']
const COMPLETED = [
  ...CALL,
  ...['duration_ms', 'error_code', 'queue_ms', 'response_bytes', 'server_ms', 'start_ms', 'status'],
].sort()

test('facts about calls carry neither arguments nor results, whether a call succeeds, fails or is refused', async () => {
  const house = await openHouse()
  await register(house, 'mirror') // returns its request
  await register(house, 'mirror', ['--error'], { name: 'failing' })
  await register(house, 'liar')
  for (const id of ['mirror', 'failing', 'liar']) await post(house, `/api/servers/${id}/start`)
  const frames: { type: string; data: Record<string, unknown> }[] = []
  const socket = new WebSocket(`${house.address.replace('http', 'ws')}/api/ws/metrics`)
  onTestFinished(() => socket.terminate())
  socket.on('message', (text) => frames.push(JSON.parse(String(text))))
  await once(socket, 'open')

  const canary = 'canary-in-an-argument'
  const args = { text: canary, [canary]: [{ deep: canary }] }
  const echoed: string[] = []
  for (const era of ['legacy', 'modern'] as const) {
    const agent = await Agent.open(house, await newKey(house), era)
    for (const tool of ['mirror__mirror', 'failing__mirror', 'liar__null_result', 'liar__bad_error'])
      echoed.push(JSON.stringify((await agent.call(tool, args)).answers))
  }
  for (const path of ['mirror/tools/mirror', 'failing/tools/mirror', 'liar/tools/bad_error'])
    echoed.push((await post(house, `/api/servers/${path}/call`, { arguments: args })).body)
  expect(echoed.filter((text) => text.includes(canary))).toHaveLength(6) // the servers did get them

  const of = (type: string) => frames.filter((frame) => frame.type === type).map(({ data }) => data)
  await expect.poll(() => of('call_completed').length).toBe(echoed.length)
  for (const data of of('call_started')) expect(Object.keys(data).sort()).toEqual(CALL)
  for (const data of of('call_completed')) expect(Object.keys(data).sort()).toEqual(COMPLETED)
  expect(JSON.stringify(frames)).not.toContain(canary)
})
