import { expect, test } from 'vitest'
import { ownFolder } from '../../../test/support/folder.ts'
import { post, register } from '../../../test/support/running-servers.ts'
import { AUTHORISED, openTestService, type TestService } from '../../../test/support/test-service.ts'
import type { AgentToolsView } from '../catalogue/visibility.schema.ts'
import type { ApplyReport, PresetView } from './presets.schema.ts'

const put = (service: TestService, name: string, payload: object) =>
  service.inject({ method: 'PUT', url: `/api/presets/${name}`, headers: AUTHORISED, payload })
const read = (service: TestService, path = '') =>
  service.inject({ url: `/api/presets${path}`, headers: AUTHORISED })
const tools = async (service: TestService) =>
  (await service.inject({ url: '/api/agents/cursor/tools', headers: AUTHORISED })).json<AgentToolsView>()
const apply = async (service: TestService, payload: object) => {
  const reply = await post(service, '/api/agents/cursor/apply', payload)
  return { status: reply.statusCode, body: reply.json<ApplyReport>() }
}

test('a preset is saved, listed, applied to an agent, kept over a restart and deleted; a dry run changes nothing', async () => {
  const home = ownFolder()
  const service = await openTestService({ home })
  for (const kind of ['echo', 'noisy']) {
    await register(service, kind)
    expect((await post(service, `/api/servers/${kind}/start`)).statusCode).toBe(200)
  }
  const saved = await put(service, 'work', { servers: ['echo'], tools: { echo: ['pid'], noisy: null } })
  expect([saved.statusCode, saved.json()]).toEqual([
    200,
    { name: 'work', servers: ['echo'], tools: { echo: ['pid'] }, updated_at: expect.any(String) },
  ])
  await put(service, 'all', { servers: null })

  const before = await tools(service)
  const dry = await apply(service, { preset: 'work', dry_run: true })
  expect(dry).toMatchObject({
    status: 200,
    body: { preset: 'work', dry_run: true, changed: true, warnings: [], servers: ['echo'] },
  })
  expect(dry.body.visible).toMatchObject({ servers: 1, tools: 1 })
  expect(await tools(service)).toEqual(before)

  const { body } = await apply(service, { preset: 'work' })
  expect(body).toEqual({ ...dry.body, dry_run: false })
  expect(body).toMatchObject({
    before: { servers: null, visible: { servers: 2 } },
    gained: [],
    lost: ['noisy'],
    more_tools: [],
  })
  expect(body).toMatchObject(await tools(service))
  const wider = await apply(service, { preset: 'all', dry_run: true })
  expect(wider.body).toMatchObject({ gained: ['noisy'], lost: [], more_tools: ['echo'] })
  expect((await apply(service, { preset: 'work' })).body.changed).toBe(false)

  await service.close()
  const again = await openTestService({ home })
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
  const service = await openTestService()
  await register(service, 'echo')
  expect((await service.inject('/api/presets')).statusCode).toBe(401)
  expect((await service.inject('/api/presets/work')).statusCode).toBe(401)
  const replies = [
    await put(service, 'work', { servers: ['unknown'] }),
    await put(service, 'work', { tools: { unknown: ['x'] } }),
    await put(service, 'No%20Slug', { servers: ['echo'] }),
    await put(service, 'work', {}),
    await post(service, '/api/agents/cursor/apply', { preset: 'unknown' }),
    await post(service, '/api/agents/no-agent/apply', { preset: 'work' }),
  ]
  expect(replies.map(({ statusCode }) => statusCode)).toEqual([422, 422, 422, 422, 404, 404])
  expect((await read(service)).json()).toMatchObject({ items: [], total: 0 })
})
