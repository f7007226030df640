import { describe, expect, test } from 'vitest'
import { AnsweringAgent } from '../../test/support/answering-agent.ts'
import { type Era, newKey } from '../../test/support/gateway.ts'
import { randomFrom } from '../../test/support/random.ts'
import { definition, get, post } from '../../test/support/running-servers.ts'
import { openTestService, type TestService } from '../../test/support/test-service.ts'

const ALL = { elicitation: {}, sampling: {}, roots: { listChanged: true } }
const TOOLS = ['elicit', 'sample', 'roots', 'log'] as const
/** In each of eight cells, three calls at once: together more than 1,000. */
const ROUNDS = 45

type Sharing = 'auto' | 'shared' | 'per_agent' | 'per_session'

async function setUp(sharing: Sharing, more: object = {}) {
  const service = await openTestService()
  const added = await post(service, '/api/servers', { ...definition('asker'), sharing, ...more })
  expect(added.statusCode, added.body).toBe(201)
  await post(service, '/api/servers/asker/start')
  return service
}

const endpointOf = (service: TestService, key: string, path = '/mcp/asker') => ({
  address: service.address,
  key,
  path,
})

async function openAgent(
  era: Era,
  name: string,
  service: TestService,
  key: string,
  capabilities: object = ALL,
) {
  const endpoint = endpointOf(service, key)
  return era === 'legacy'
    ? AnsweringAgent.legacy(name, endpoint, capabilities)
    : AnsweringAgent.modern(name, endpoint, capabilities)
}

/** The name in the answer that the server got. Undefined when its question was refused. */
function answeredBy(text: string): string | undefined {
  const { refused, content, roots } = JSON.parse(text)
  return refused ? undefined : (content?.name ?? content?.text ?? roots?.[0]?.name)
}

describe.each<[Sharing, Era, 'two keys' | 'one key']>([
  ['shared', 'legacy', 'two keys'],
  ['shared', 'legacy', 'one key'],
  ['shared', 'modern', 'two keys'],
  ['shared', 'modern', 'one key'],
  ['auto', 'legacy', 'two keys'],
  ['auto', 'legacy', 'one key'],
  ['auto', 'modern', 'two keys'],
  ['auto', 'modern', 'one key'],
])('sharing: %s, %s clients with %s', (sharing, era, keys) => {
  test('a question or log message never reaches another client, and no client answers for another', async () => {
    const service = await setUp(sharing)
    const first = await newKey(service)
    const second = keys === 'two keys' ? await newKey(service, 'codex') : first
    // One question tells Toolroom that the server depends on its client.
    await (await openAgent(era, 'early', service, first)).call('elicit', { who: 'early' })
    const agents = [
      await openAgent(era, 'alice', service, first),
      await openAgent(era, 'bob', service, second),
      await openAgent(era, 'mute', service, second, {}),
    ]
    const random = randomFrom(7)
    let answered = 0
    for (let round = 0; round < ROUNDS; round += 1) {
      const calls = agents.map(async (agent) => {
        const tool = TOOLS[Math.floor(random() * TOOLS.length)] ?? 'elicit'
        const text = await agent.call(tool, { who: agent.name, pause: Math.floor(random() * 4) })
        if (tool === 'log') return
        const by = answeredBy(text)
        if (agent.name === 'mute') expect(by, text).toBeUndefined()
        else if (by !== undefined) {
          answered += 1
          expect(by).toBe(agent.name)
        } else expect(text).toContain('Several clients are using this server')
      })
      await Promise.all(calls)
    }
    for (const { misrouted, name } of agents) expect(misrouted, name).toEqual([])
    expect(answered).toBeGreaterThan(0)
    if (sharing === 'auto' && era === 'legacy') {
      // Each session has a process of its own, so no question is refused and no log message is lost.
      const { instances, sharing_reason } = await get(service, 'asker')
      expect(sharing_reason).toBe('It asked its client for input')
      expect(instances.map(({ session_id }: { session_id: string | null }) => session_id)).toHaveLength(4)
      for (const { name, logs } of agents.slice(0, 2)) expect(logs, name).toBeGreaterThan(0)
    }
  })
})
