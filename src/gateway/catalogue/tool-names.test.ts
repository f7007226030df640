import fc from 'fast-check'
import { expect, test } from 'vitest'
import { runs } from '../../../test/support/full-or-short.ts'
import { gatewayName, nameTools, serverIn } from './tool-names.ts'

const id = fc.stringMatching(/^[a-z0-9][a-z0-9._-]{0,63}$/)
const tool = fc.oneof(
  fc.stringMatching(/^[A-Za-z0-9_.-]{1,128}$/),
  fc.string({ minLength: 1, maxLength: 200 }),
)

test.each([
  ['github', 'create_issue', 'github__create_issue'],
  ['my.files', 'read', /^my_files__read_[0-9a-f]{8}$/],
  ['files', 'read.text', /^files__read_text_[0-9a-f]{8}$/],
  ['a', 'x'.repeat(62), /^a__x{37}_[0-9a-f]{8}$/],
  ['a__b', 'c', /^a__b__c_[0-9a-f]{8}$/],
])(
  'the server %s and its tool %s get a gateway name that all model APIs accept',
  (server, name, expected) => {
    expect(gatewayName(server, name)).toMatch(expected)
  },
)

test('gateway names are unique, stable, and have at most 49 plain characters', () => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.tuple(id, tool), { maxLength: 20, selector: ([a, b]) => `${a}\0${b}` }),
      (pairs) => {
        const names = pairs.map(([server, name]) => gatewayName(server, name))
        for (const name of names) expect(name).toMatch(/^[A-Za-z0-9_-]{1,49}$/)
        expect(new Set(names).size).toBe(names.length)
        expect(pairs.map(([server, name]) => gatewayName(server, name))).toEqual(names)
      },
    ),
    { numRuns: runs(300, 2000) },
  )
})

test('ambiguous combinations of server and tool get different gateway names', () => {
  expect(gatewayName('a', 'b__c')).not.toBe(gatewayName('a__b', 'c'))
  expect(gatewayName('a_', 'x')).not.toBe(gatewayName('a', '_x'))
  expect(gatewayName('a.b', 'x')).not.toBe(gatewayName('a_b', 'x'))
})

test('tools are in a fixed order, and a tool whose name looks like another one is a conflict', () => {
  const toolNamed = (name: string) => ({ name, definition: null })
  const servers = [
    { id: 'zoo', tools: [toolNamed('list'), toolNamed('1ist'), toolNamed('feed')] },
    { id: 'a-b', tools: [toolNamed('x')] },
    { id: 'a_b', tools: [toolNamed('x')] },
  ]
  const { tools, conflicts } = nameTools(servers)
  expect(tools.map(({ name }) => name)).toEqual(['a-b__x', 'zoo__list', 'zoo__feed'])
  expect(conflicts.map(({ server_id, name }) => [server_id, name])).toEqual([
    ['a_b', 'x'],
    ['zoo', '1ist'],
  ])
  expect(nameTools([...servers].reverse()).tools).toEqual(tools)
})

test('a gateway name does not change when another server is added or removed', () => {
  fc.assert(
    fc.property(fc.uniqueArray(id, { minLength: 2, maxLength: 8 }), (ids) => {
      const servers = ids.map((each) => ({ id: each, tools: [{ name: 'do', definition: each }] }))
      const [, ...fewer] = servers
      const names = (list: typeof servers) =>
        new Map(nameTools(list).tools.map((one) => [one.server_id, one.name]))
      const [all, some] = [names(servers), names(fewer)]
      for (const [server, name] of some) if (all.has(server)) expect(all.get(server)).toBe(name)
    }),
    { numRuns: runs(100, 500) },
  )
})

test('of two servers whose names begin a tool name, the one with the longer name has it', () => {
  for (const ids of [
    ['git', 'git__hub'],
    ['git__hub', 'git'],
  ])
    expect(serverIn('git__hub__create_issue', ids)).toEqual({ id: 'git__hub', tool: 'create_issue' })
  expect(serverIn('git__create', ['git', 'git__hub'])).toEqual({ id: 'git', tool: 'create' })
  expect(serverIn('gitlab__create', ['git'])).toBeUndefined()
})

test('the same tool of two servers whose long names begin alike has two names', () => {
  const names = ['1', '2'].map((end) => gatewayName(`${'a'.repeat(60)}${end}`, 'read'))
  expect(new Set(names).size).toBe(2)
  const tools = ['1', '2'].map((end) => gatewayName('server', `${'a'.repeat(60)}${end}`))
  expect(new Set(tools).size).toBe(2)
})
