import { describe, expect, test } from 'vitest'
import { mergeCatalogues, type ServerLists } from './merge-prompts-and-resources.ts'
import { unwrap, wrap } from './wrapped-uri.ts'

const server = (id: string, own: Partial<ServerLists> = {}): ServerLists => ({
  id,
  prompts: [],
  resources: [],
  resource_templates: [],
  ...own,
})
const listed = (merged: ReturnType<typeof mergeCatalogues>, method: string) =>
  JSON.parse(String(merged.lists[method]?.legacy))

describe('merged prompts', () => {
  test('merged prompts have the server id in their name, keep the order of the server, and are found by name', () => {
    const merged = mergeCatalogues([
      server('b', { prompts: [{ name: 'z', title: 'Z' }, { name: 'a' }] }),
      server('a', { prompts: [{ name: 'a' }] }),
    ])
    expect(listed(merged, 'prompts/list').prompts).toEqual([
      { name: 'a__a' },
      { name: 'b__z', title: 'Z' },
      { name: 'b__a' },
    ])
    expect(merged.prompt('b__a')).toEqual({ serverId: 'b', name: 'a' })
    expect(merged.prompt('a')).toBeUndefined()
  })

  test('a prompt whose name looks like another one is a conflict', () => {
    const merged = mergeCatalogues([server('a', { prompts: [{ name: 'list' }, { name: '1ist' }] })])
    expect(listed(merged, 'prompts/list').prompts).toHaveLength(1)
    expect(merged.conflicts).toMatchObject([{ server_id: 'a', kind: 'prompt', name: '1ist' }])
  })
})

describe('merged resources', () => {
  const merged = mergeCatalogues([
    server('b', { resources: [{ uri: 'x://1', size: 2 }, { uri: 'toolroom://a/x' }] }),
    server('a', { resources: [{ uri: 'x://1', size: 1 }, { uri: 'x://2' }] }),
  ])

  test('merged resources keep their URIs, and of two equal URIs the second one is wrapped', () => {
    expect(listed(merged, 'resources/list').resources).toEqual([
      { uri: 'x://1', size: 1 },
      { uri: 'x://2' },
      { uri: 'toolroom://b/x%3A%2F%2F1', size: 2 },
      { uri: 'toolroom://b/toolroom%3A%2F%2Fa%2Fx' },
    ])
  })

  test.each([
    ['x://1', { serverId: 'a', uri: 'x://1', isWrapped: false }],
    ['toolroom://b/x%3A%2F%2F1', { serverId: 'b', uri: 'x://1', isWrapped: true }],
    ['toolroom://a/x', { serverId: 'a', uri: 'x', isWrapped: true }],
    ['toolroom://unknown/x%3A%2F%2F1', undefined],
    ['toolroom://b/%E0%A4%A', undefined],
    ['toolroom://b', undefined],
    ['x://3', undefined],
  ])('the resource %s is located at %j', (uri, location) => {
    expect(merged.resource(uri)).toEqual(location)
  })
})

describe('merged templates', () => {
  const merged = mergeCatalogues([
    server('b', { resource_templates: [{ uriTemplate: 'x://{id}' }, { uriTemplate: 'x://b/{id}' }] }),
    server('a', { resource_templates: [{ uriTemplate: 'x://{id}' }, { uriTemplate: '{+any}' }] }),
    server('c', {
      resource_templates: [{ uriTemplate: 'toolroom://a/{id}' }],
      resources: [{ uri: 'x://5' }],
    }),
  ])

  test('a template is listed once, and an equal one of a later server is a conflict', () => {
    expect(listed(merged, 'resources/templates/list').resourceTemplates).toEqual([
      { uriTemplate: 'x://{id}' },
      { uriTemplate: '{+any}' },
      { uriTemplate: 'x://b/{id}' },
    ])
    expect(merged.conflicts.map(({ server_id, name }) => [server_id, name])).toEqual([
      ['b', 'x://{id}'],
      ['c', 'toolroom://a/{id}'],
    ])
    expect(merged.template('x://{id}')).toBe('a')
  })

  test.each([
    ['x://b/1', 'b'],
    ['x://1', 'a'],
    ['x://5', 'c'],
    ['anything at all', 'a'],
  ])(
    'the resource %s belongs to %s: a listed resource wins, then the template with the longest literal part',
    (uri, serverId) => {
      expect(merged.resource(uri)?.serverId).toBe(serverId)
    },
  )
})

test('the merged lists do not depend on the order of the servers', () => {
  const some = ['c', 'a', 'b'].map((id) =>
    server(id, { resources: [{ uri: 'x://1' }], prompts: [{ name: 'p' }] }),
  )
  const bodies = (servers: ServerLists[]) =>
    Object.values(mergeCatalogues(servers).lists).map(({ modern }) => String(modern))
  expect(bodies(some)).toEqual(bodies(some.toReversed()))
})

test.each(['x://a b/ü?#%', 'toolroom://a/b', '/'])(
  'the URI %s is unchanged after wrapping and unwrapping',
  (uri) => {
    expect(unwrap(wrap('a b', uri))).toEqual({ serverId: 'a b', uri })
  },
)
