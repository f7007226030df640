import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { AUTHORISED, type House, openHouse } from '../../../test/support/house.ts'
import { post, register } from '../../../test/support/running.ts'
import type { AgentToolsView } from '../visibility/visibility.schema.ts'
import type { ApplyReport, PresetView } from './presets.schema.ts'

const put = (house: House, name: string, payload: object) =>
  house.inject({ method: 'PUT', url: `/api/presets/${name}`, headers: AUTHORISED, payload })
const read = (house: House, path = '') => house.inject({ url: `/api/presets${path}`, headers: AUTHORISED })
const tools = async (house: House) =>
  (await house.inject({ url: '/api/agents/cursor/tools', headers: AUTHORISED })).json<AgentToolsView>()
const apply = async (house: House, payload: object) => {
  const reply = await post(house, '/api/agents/cursor/apply', payload)
  return { status: reply.statusCode, body: reply.json<ApplyReport>() }
}

test('a preset is saved, listed, applied to an agent, kept over a restart and deleted; a dry run changes nothing', async () => {
  const home = ownFolder()
  const house = await openHouse({ home })
  for (const kind of ['echo', 'noisy']) {
    await register(house, kind)
    expect((await post(house, `/api/servers/${kind}/start`)).statusCode).toBe(200)
  }
  const saved = await put(house, 'work', { servers: ['echo'], tools: { echo: ['pid'], noisy: null } })
  expect([saved.statusCode, saved.json()]).toEqual([
    200,
    { name: 'work', servers: ['echo'], tools: { echo: ['pid'] }, updated_at: expect.any(String) },
  ])
  await put(house, 'all', { servers: null })

  const before = await tools(house)
  const dry = await apply(house, { preset: 'work', dry_run: true })
  expect(dry).toMatchObject({
    status: 200,
    body: { preset: 'work', dry_run: true, changed: true, warnings: [], servers: ['echo'] },
  })
  expect(dry.body.visible).toMatchObject({ servers: 1, tools: 1 })
  expect(await tools(house)).toEqual(before)

  const { body } = await apply(house, { preset: 'work' })
  expect(body).toEqual({ ...dry.body, dry_run: false })
  const { preset: _, dry_run: __, changed: ___, warnings: ____, ...view } = body
  expect(await tools(house)).toEqual(view)
  expect((await apply(house, { preset: 'work' })).body.changed).toBe(false)

  await house.close()
  const again = await openHouse({ home })
  const { items } = (await read(again)).json<{ items: PresetView[] }>()
  expect(items.map(({ name }) => name)).toEqual(['all', 'work'])
  expect(
    (await again.inject({ method: 'DELETE', url: '/api/servers/echo', headers: AUTHORISED })).statusCode,
  ).toBe(204)
  const left = await apply(again, { preset: 'work' })
  expect(left.body).toMatchObject({ servers: [], tools: {}, warnings: [expect.stringContaining("'echo'")] })
  expect((await apply(again, { preset: 'all' })).body).toMatchObject({ servers: null, changed: true })
  const removed = await again.inject({ method: 'DELETE', url: '/api/presets/work', headers: AUTHORISED })
  expect([removed.statusCode, (await read(again, '/work')).statusCode]).toEqual([204, 404])
})

test('presets need the token, and a preset with an unknown server, an invalid name or an unknown name is refused', async () => {
  const house = await openHouse()
  await register(house, 'echo')
  expect((await house.inject('/api/presets')).statusCode).toBe(401)
  expect((await house.inject('/api/presets/work')).statusCode).toBe(401)
  const replies = [
    await put(house, 'work', { servers: ['unknown'] }),
    await put(house, 'work', { tools: { unknown: ['x'] } }),
    await put(house, 'No%20Slug', { servers: ['echo'] }),
    await put(house, 'work', {}),
    await post(house, '/api/agents/cursor/apply', { preset: 'unknown' }),
    await post(house, '/api/agents/no-agent/apply', { preset: 'work' }),
  ]
  expect(replies.map(({ statusCode }) => statusCode)).toEqual([422, 422, 422, 422, 404, 404])
  expect((await read(house)).json()).toMatchObject({ items: [], total: 0 })
})
