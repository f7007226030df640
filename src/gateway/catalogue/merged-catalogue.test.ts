import { describe, expect, test } from 'vitest'
import { mergeCatalogues, type ServerLists } from './merged-catalogue.ts'
import { unwrap, wrap } from './wrapped-uri.ts'

const stock = (id: string, own: Partial<ServerLists> = {}): ServerLists => ({
  id,
  prompts: [],
  resources: [],
  resource_templates: [],
  ...own,
})
const listed = (merged: ReturnType<typeof mergeCatalogues>, method: string) =>
  JSON.parse(String(merged.lists[method]?.legacy))

describe('prompts side by side', () => {
  test('carry the name of their server, stay in its order, and lead back to it', () => {
    const merged = mergeCatalogues([
      stock('b', { prompts: [{ name: 'z', title: 'Z' }, { name: 'a' }] }),
      stock('a', { prompts: [{ name: 'a' }] }),
    ])
    expect(listed(merged, 'prompts/list').prompts).toEqual([
      { name: 'a__a' },
      { name: 'b__z', title: 'Z' },
      { name: 'b__a' },
    ])
    expect(merged.prompt('b__a')).toEqual({ serverId: 'b', name: 'a' })
    expect(merged.prompt('a')).toBeUndefined()
  })

  test('that cannot be told apart are not both let in, and it is said why', () => {
    const merged = mergeCatalogues([stock('a', { prompts: [{ name: 'list' }, { name: '1ist' }] })])
    expect(listed(merged, 'prompts/list').prompts).toHaveLength(1)
    expect(merged.conflicts).toMatchObject([{ server_id: 'a', kind: 'prompt', name: '1ist' }])
  })
})

describe('resources side by side', () => {
  const merged = mergeCatalogues([
    stock('b', { resources: [{ uri: 'x://1', size: 2 }, { uri: 'toolroom://a/x' }] }),
    stock('a', { resources: [{ uri: 'x://1', size: 1 }, { uri: 'x://2' }] }),
  ])

  test('keep their URIs; of two with the same one the later server’s is named by us', () => {
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
    ['toolroom://nobody/x%3A%2F%2F1', undefined],
    ['toolroom://b/%E0%A4%A', undefined],
    ['toolroom://b', undefined],
    ['x://3', undefined],
  ])('%s leads to %j', (uri, place) => {
    expect(merged.resource(uri)).toEqual(place)
  })
})

describe('templates side by side', () => {
  const merged = mergeCatalogues([
    stock('b', { resource_templates: [{ uriTemplate: 'x://{id}' }, { uriTemplate: 'x://b/{id}' }] }),
    stock('a', { resource_templates: [{ uriTemplate: 'x://{id}' }, { uriTemplate: '{+any}' }] }),
    stock('c', { resource_templates: [{ uriTemplate: 'toolroom://a/{id}' }], resources: [{ uri: 'x://5' }] }),
  ])

  test('are let in once, and who comes too late is named', () => {
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
  ])('%s goes to %s: what is listed first, then the template that says most', (uri, serverId) => {
    expect(merged.resource(uri)?.serverId).toBe(serverId)
  })
})

test('the same servers in another order are the same lists', () => {
  const some = ['c', 'a', 'b'].map((id) =>
    stock(id, { resources: [{ uri: 'x://1' }], prompts: [{ name: 'p' }] }),
  )
  const bodies = (stocks: ServerLists[]) =>
    Object.values(mergeCatalogues(stocks).lists).map(({ modern }) => String(modern))
  expect(bodies(some)).toEqual(bodies(some.toReversed()))
})

test.each(['x://a b/ü?#%', 'toolroom://a/b', '/'])('%s comes out of its wrapping as it was', (uri) => {
  expect(unwrap(wrap('a b', uri))).toEqual({ serverId: 'a b', uri })
})
