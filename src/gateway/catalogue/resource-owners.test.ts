import { expect, test } from 'vitest'
import { ResourceOwners } from './resource-owners.ts'

const as = (uri: string) => uri
const link = (uri: string) => ({ type: 'resource_link', uri, name: 'x' })
const embedded = (uri: string) => ({ type: 'resource', resource: { uri, text: 'x' } })

test.each([
  [{ content: [{ type: 'text', text: 'x' }, link('x://1')] }],
  [{ content: [embedded('x://1')] }],
  [{ messages: [{ role: 'user', content: embedded('x://1') }] }],
  [{ messages: [{ role: 'user', content: [link('x://1')] }] }],
  [{ contents: [{ uri: 'x://1', text: 'x' }] }],
])('what %j speaks of is remembered, and it stays as it is', (result) => {
  const links = new ResourceOwners()
  expect(links.record('a', result, as)).toBe(result)
  expect(links.serverOf('x://1')).toBe('a')
})

test.each([
  [
    { content: [{ type: 'text', text: 'x' }, link('x://1')] },
    { content: [{ type: 'text', text: 'x' }, link('y')] },
  ],
  [
    { content: [embedded('x://1')], more: 1 },
    { content: [embedded('y')], more: 1 },
  ],
  [
    { messages: [{ role: 'user', content: link('x://1') }] },
    { messages: [{ role: 'user', content: link('y') }] },
  ],
  [{ contents: [{ uri: 'x://1', text: 'x' }] }, { contents: [{ uri: 'y', text: 'x' }] }],
])('%j is given on under the name that an agent knows', (result, told) => {
  expect(new ResourceOwners().record('a', result, () => 'y')).toEqual(told)
})

test.each([[null], [7], ['x'], [[]], [{}], [{ content: 'x', contents: [null, 7, {}], messages: [{}, 7] }]])(
  '%j speaks of nothing',
  (result) => {
    expect(new ResourceOwners().record('a', result, () => 'y')).toBe(result)
  },
)

test('of too many the one that was used longest ago is forgotten', () => {
  const links = new ResourceOwners()
  const say = (uri: string) => links.record('a', { content: [link(uri)] }, as)
  for (let n = 0; n < 10_000; n += 1) say(`x://${n}`)
  expect(links.serverOf('x://0')).toBe('a')
  say('x://new')
  expect([links.serverOf('x://0'), links.serverOf('x://1'), links.serverOf('x://new')]).toEqual([
    'a',
    undefined,
    'a',
  ])
})
