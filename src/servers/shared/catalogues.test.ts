import { expect, test } from 'vitest'
import { FactBus, type Facts } from '../../kernel/fact-bus.ts'
import type { OtherLists } from '../../mcp/protocol/listed-definitions.ts'
import { type Catalogue, Catalogues, type DiscoveredServer } from './catalogues.ts'

const CAN = { tools: {}, prompts: {}, resources: {} }
const discovered = (own: Partial<DiscoveredServer> = {}): DiscoveredServer => ({
  protocol_version: '2025-11-25',
  server_info: {},
  capabilities: CAN,
  instructions: null,
  tools: [{ name: 'a' }],
  truncated: false,
  duplicates: 0,
  ...own,
})

async function opened(stored: ReadonlyMap<string, Catalogue> = new Map()) {
  const facts = new FactBus((error) => expect.unreachable(String(error)))
  const changes: Facts['lists_changed'][] = []
  facts.on('lists_changed', (fact) => changes.push(fact))
  const saved = new Map<string, Catalogue>()
  const catalogues = await Catalogues.open({
    store: {
      all: async () => stored,
      save: async (some) => void [...some].map(([id, each]) => saved.set(id, each)),
    },
    pins: { check: () => ({ changed: [], diffs: [] }), heldIn: () => new Map(), forget: () => {} },
    facts,
    redact: (text) => text.replaceAll('s3cret', '***'),
    now: () => 0,
    onError: () => {},
  })
  const others = (id = 's') => {
    const { prompts, resources, resource_templates } = catalogues.of(id) ?? NONE
    return { prompts, resources, resource_templates }
  }
  return { catalogues, changes, saved, others }
}
const NONE: OtherLists = { prompts: [], resources: [], resource_templates: [] }

test('prompts and resources are stored with the tools, and each change publishes one fact', async () => {
  const { catalogues, changes, saved, others } = await opened()
  catalogues.update('s', discovered())
  expect(changes).toEqual([])
  catalogues.updateList('s', 'prompts', [{ name: 'p', extra: 's3cret' }])
  catalogues.updateList('s', 'prompts', [{ name: 'p', extra: 's3cret' }])
  catalogues.updateList('s', 'resource_templates', [{ uriTemplate: 'x://{id}' }])
  catalogues.updateList('s', 'resources', [])
  expect(changes).toEqual([
    { server_id: 's', kinds: ['prompts'] },
    { server_id: 's', kinds: ['resources'] },
  ])
  const all = {
    prompts: [{ name: 'p', extra: '***' }],
    resources: [],
    resource_templates: [{ uriTemplate: 'x://{id}' }],
  }
  expect(others()).toEqual(all)
  await catalogues.save()
  expect(saved.get('s')).toMatchObject({ ...all, tools: [{ name: 'a' }] })
})

test('a new tool list keeps the other lists, unless the server no longer declares them', async () => {
  const { catalogues, changes, others } = await opened()
  catalogues.update('s', discovered())
  catalogues.updateList('s', 'prompts', [{ name: 'p' }])
  catalogues.updateList('s', 'resources', [{ uri: 'x://1' }])
  catalogues.update('s', discovered({ tools: [{ name: 'b' }] }))
  expect(others()).toEqual({ ...NONE, prompts: [{ name: 'p' }], resources: [{ uri: 'x://1' }] })
  changes.length = 0
  catalogues.update('s', discovered({ capabilities: { tools: {}, prompts: {} } }))
  expect(others()).toEqual({ ...NONE, prompts: [{ name: 'p' }] })
  expect(changes).toEqual([{ server_id: 's', kinds: ['resources'] }])
})

test('the lists of a server are limited to 8 MiB in total', async () => {
  const { catalogues, others } = await opened()
  const mebibyte = 'x'.repeat(1024 * 1024)
  catalogues.update('s', discovered({ tools: [{ name: 'a', mebibyte }] }))
  catalogues.updateList(
    's',
    'prompts',
    Array.from({ length: 5 }, (_, n) => ({ name: `p${n}`, mebibyte })),
  )
  catalogues.updateList(
    's',
    'resources',
    Array.from({ length: 5 }, (_, n) => ({ uri: `x://${n}`, mebibyte })),
  )
  expect([others().prompts.length, others().resources.length]).toEqual([5, 1])
})

test('a catalogue of an older version has no other lists, and a list of an unknown server is ignored', async () => {
  const old = { ...discovered(), fetched_at: 0 } as Catalogue
  const { catalogues, others } = await opened(new Map([['s', old]]))
  expect(others()).toEqual(NONE)
  catalogues.updateList('unknown', 'prompts', [{ name: 'p' }])
  expect(catalogues.of('unknown')).toBeUndefined()
})
