import { expect, test } from 'vitest'
import { RawJson } from '../../mcp/protocol/raw-json.ts'
import { MentionedResources } from './mentioned-resources.ts'

const raw = (result: unknown) => new RawJson(JSON.stringify(result), result)
const unchanged = (uri: string) => uri
const link = (uri: string) => ({ type: 'resource_link', uri, name: 'x' })
const embedded = (uri: string) => ({ type: 'resource', resource: { uri, text: 'x' } })

test.each([
  [{ content: [{ type: 'text', text: 'x' }, link('x://1')] }],
  [{ content: [embedded('x://1')] }],
  [{ messages: [{ role: 'user', content: embedded('x://1') }] }],
  [{ messages: [{ role: 'user', content: [link('x://1')] }] }],
  [{ contents: [{ uri: 'x://1', text: 'x' }] }],
])('the resource in %j is remembered, and the result stays unchanged', (result) => {
  const owners = new MentionedResources()
  expect(owners.record('a', raw(result), unchanged)).toBeUndefined()
  expect(owners.serverOf('x://1')).toBe('a')
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
  [
    { _meta: { ui: { resourceUri: 'ui://1', more: 1 }, 'ui/resourceUri': 'ui://2', other: 'ui://3' } },
    { _meta: { ui: { resourceUri: 'y', more: 1 }, 'ui/resourceUri': 'y', other: 'ui://3' } },
  ],
  [
    { _meta: { 'openai/outputTemplate': 'ui://1' }, content: [link('x://1')] },
    { _meta: { 'openai/outputTemplate': 'y' }, content: [link('y')] },
  ],
])('the URI in %j is replaced by the one that the agent uses', (result, expected) => {
  const renamed = new MentionedResources().record('a', raw(result), () => 'y')
  expect(JSON.parse(String(renamed?.json))).toEqual(expected)
})

test.each([
  [null],
  [7],
  ['x'],
  [[]],
  [{}],
  [{ _meta: 7 }],
  [{ _meta: { ui: { resourceUri: 'x://1' } } }],
  [{ content: 'x', contents: [null, 7, {}], messages: [{}, 7] }],
])('the result %j mentions no resource and stays unchanged', (result) => {
  expect(new MentionedResources().record('a', raw(result), () => 'y')).toBeUndefined()
})

test('at the limit the least recently used resource is forgotten', () => {
  const owners = new MentionedResources()
  const mention = (uri: string) => owners.record('a', raw({ content: [link(uri)] }), unchanged)
  for (let n = 0; n < 10_000; n += 1) mention(`x://${n}`)
  expect(owners.serverOf('x://0')).toBe('a')
  mention('x://new')
  expect([owners.serverOf('x://0'), owners.serverOf('x://1'), owners.serverOf('x://new')]).toEqual([
    'a',
    undefined,
    'a',
  ])
})
