import { expect, test } from 'vitest'
import { Agent, type Era, newKey, textOf } from '../../test/support/gateway.ts'
import { post, register } from '../../test/support/running-servers.ts'
import { AUTHORISED, openTestService } from '../../test/support/test-service.ts'

async function setUp(args: readonly string[] = []) {
  const service = await openTestService()
  await register(service, 'listing', args)
  await post(service, '/api/servers/listing/start')
  return { service, key: await newKey(service) }
}

const CELLS = (['legacy', 'modern'] as const satisfies Era[]).flatMap((era) =>
  (
    [
      ['/mcp', 'listing__'],
      ['/mcp/listing', ''],
    ] as const
  ).flatMap(([path, prefix]) => [
    ['before its result', era, path, prefix, []] as const,
    ['after its result', era, path, prefix, ['--late=1000']] as const,
  ]),
)

test.each(CELLS)(
  'a tool that a server announces %s can be called by a %s agent at %s as soon as the result has arrived',
  async (_, era, path, prefix, args) => {
    const { service, key } = await setUp(args)
    const agent = await Agent.open(service, key, era, path)
    for (const grown of ['grown_3', 'grown_4']) {
      expect(textOf((await agent.call(`${prefix}grow`)).answers[0])).toBe(grown)
      expect(textOf((await agent.call(prefix + grown, { text: 'new' })).answers[0])).toBe('new')
    }
  },
)

test('a tool that a server has just announced can be called over REST and with call_tool in search mode', async () => {
  const { service, key } = await setUp()
  const call = (tool: string) =>
    post(service, `/api/servers/listing/tools/${tool}/call`, { arguments: { text: 'new' } })
  await call('grow')
  expect((await call('grown_3')).json()).toMatchObject({ content: [{ text: 'new' }] })
  await service.inject({
    method: 'PUT',
    url: '/api/agents/cursor/tools',
    headers: AUTHORISED,
    payload: { tool_mode: 'search' },
  })
  const agent = await Agent.open(service, key, 'legacy')
  await agent.call('call_tool', { name: 'listing__grow', arguments: {} })
  const { answers } = await agent.call('call_tool', { name: 'listing__grown_4', arguments: { text: 'new' } })
  expect(textOf(answers[0])).toBe('new')
})

test('100 simultaneous calls of tools that do not exist are refused and share a few lists, and a stopped server is not started for them', async () => {
  const { service, key } = await setUp(['--slow=1000'])
  const agent = await Agent.open(service, key, 'legacy')
  const lists = async () =>
    Number((await post(service, '/api/servers/listing/tools/lists/call', {})).json().content[0].text)
  const before = await lists()
  const calls = Array.from({ length: 100 }, (_, n) => agent.call(`listing__nothing_${n}`))
  for (const { answers } of await Promise.all(calls))
    expect(answers[0]?.error).toMatchObject({ code: -32602, message: expect.stringMatching(/^Unknown tool/) })
  expect((await lists()) - before).toBeLessThan(20)
  await post(service, '/api/servers/listing/stop')
  expect((await agent.call('listing__nothing')).answers[0]?.error).toMatchObject({ code: -32602 })
})
