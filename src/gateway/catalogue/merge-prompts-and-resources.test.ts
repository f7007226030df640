import { describe, expect, test } from 'vitest'
import { mergeCatalogues, type ServerLists } from './merge-prompts-and-resources.ts'
import { unwrap, wrap } from './wrapped-uri.ts'

const server = (id: string, own: Partial<ServerLists> = {}): ServerLists => ({
  id,
  prompts: [],
  resources: [],
  resource_templates: [],
  tools: [],
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

describe('merged pages', () => {
  const tool = (uri: string) => ({ name: 't', _meta: { ui: { resourceUri: uri } } })
  const merged = mergeCatalogues([
    server('b', { resources: [{ uri: 'ui://x/1' }], tools: [tool('ui://x/2')] }),
    server('a', { resources: [{ uri: 'ui://x/1' }], resource_templates: [{ uriTemplate: 'ui://x/{id}' }] }),
    server('x', { resources: [{ uri: 'ui://x/own' }, { uri: 'ui://a/1' }] }),
  ])
  const at = (serverId: string, uri: string, isWrapped: boolean) => ({ serverId, uri, isWrapped })

  test('every page and every template of pages has our URI, also if only one server lists it', () => {
    const uris = listed(merged, 'resources/list').resources.map(({ uri }: { uri: string }) => uri)
    expect(uris).toEqual(['ui://a/x/1', 'ui://b/x/1', 'ui://x/x/own', 'ui://x/a/1'])
    expect(listed(merged, 'resources/templates/list').resourceTemplates).toEqual([
      { uriTemplate: 'ui://a/x/{id}' },
    ])
    expect(merged.template('ui://a/x/{id}')).toMatchObject({ serverId: 'a', uri: 'ui://x/{id}' })
    expect(merged.conflicts).toEqual([])
  })

  test.each([
    ['ui://b/x/1', undefined, at('b', 'ui://x/1', true)],
    ['ui://b/anything', 'a', at('b', 'ui://anything', true)],
    ['ui://x/own', undefined, at('x', 'ui://x/own', false)],
    // Another server may list a page with the id of `a` in its URI, and does not get the requests for pages of `a`.
    ['ui://a/1', 'x', at('a', 'ui://1', true)],
    ['ui://other/1', 'b', undefined],
    ['ui://', undefined, undefined],
    ['ui://b', undefined, undefined],
    ['ui://%E0%A4%A/1', undefined, undefined],
  ])('the page %s, read after a page of %s, is located at %j', (uri, pageServer, location) => {
    expect(merged.resource(uri, pageServer)).toEqual(location)
  })

  test.each([
    [undefined, 'a'],
    ['b', 'b'],
    ['x', 'a'],
  ])(
    'a page that two servers have, by its own URI after a page of %s, is that of %s',
    (pageServer, serverId) => {
      const two = mergeCatalogues([
        server('a', { tools: [tool('ui://map/1')] }),
        server('b', { resources: [{ uri: 'ui://map/1' }] }),
      ])
      expect(two.resource('ui://map/1', pageServer)).toEqual(at(serverId, 'ui://map/1', false))
    },
  )
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
    expect(merged.template('x://{id}')).toMatchObject({ serverId: 'a', uri: 'x://{id}' })
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

test.each(['x://a b/ü?#%', 'toolroom://a/b', '/', 'ui://a/b?c#%2F', 'ui://', 'ui:///x', 'UI://a/b'])(
  'the URI %s is unchanged after wrapping and unwrapping',
  (uri) => {
    expect(unwrap(wrap('a b', uri))).toEqual({ serverId: 'a b', uri })
  },
)
