import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { pair } from '../../../test/support/connected-peer.ts'
import { PromptAndResourceLists } from './server-lists.ts'

function lists(timeoutMs = 5000) {
  const { peer, say, sent } = pair()
  const received: [string, unknown[]][] = []
  const others = new PromptAndResourceLists({
    requester: () => peer,
    timeoutMs,
    onList: (kind, items) =>
      received.push([kind, items.map((item) => item.uri ?? item.uriTemplate ?? item.name)]),
  })
  onTestFinished(() => others.close())
  return { others, received, say, sent }
}
const answer = (id: number, result: unknown) => ({ jsonrpc: '2.0', id, result })
const refusal = (id: number, code: number) => ({ jsonrpc: '2.0', id, error: { code, message: 'no' } })
const ALL = { prompts: {}, resources: {} }

test('only declared lists are requested, each separately and up to its last page', async () => {
  const { others, received, say, sent } = lists()
  others.begin({ tools: {} })
  expect(await sent()).toEqual([])
  others.begin(ALL)
  expect((await sent()).map(({ method }) => method)).toEqual([
    'prompts/list',
    'resources/list',
    'resources/templates/list',
  ])
  await say(answer(3, { resourceTemplates: [{ uriTemplate: 'x://{a}' }, { uri: 'none' }] }))
  await say(answer(1, { prompts: [{ name: 'a' }, { name: 'a' }], nextCursor: '' }))
  await say(answer(4, { prompts: [{ name: 'b' }], nextCursor: '' }))
  expect(received).toEqual([
    ['resource_templates', ['x://{a}']],
    ['prompts', ['a', 'b']],
  ])
})

test('a list is empty when it is unsupported, and requested again when it is rejected or not answered', async () => {
  const { others, received, say, sent } = lists(1500)
  others.begin(ALL)
  await say(refusal(1, -32601), refusal(2, -32603))
  expect(received).toEqual([['prompts', []]])
  const requested: string[] = []
  const methods = async () => {
    requested.push(...(await sent()).map(({ method }) => method))
    return requested.slice(3).filter((method) => method !== 'notifications/cancelled')
  }
  await expect.poll(methods, { timeout: 5000 }).toEqual(['resources/list'])
  await say(answer(4, { resources: [{ uri: 'x://1' }] }))
  expect(received).toEqual([
    ['prompts', []],
    ['resources', ['x://1']],
  ])
  await expect.poll(methods, { timeout: 5000 }).toEqual(['resources/list', 'resources/templates/list'])
})

test('a change of resources causes new requests for resources and templates, until the lists are closed', async () => {
  const { others, received, say, sent } = lists()
  others.begin(ALL)
  await say(answer(1, { prompts: [] }), answer(2, { resources: [] }), answer(3, {}))
  expect(received).toHaveLength(3)
  await sent()
  others.onNotification('notifications/tools/list_changed')
  others.onNotification('notifications/resources/list_changed')
  others.onNotification('notifications/resources/list_changed')
  const requested: string[] = []
  const methods = async () => {
    requested.push(...(await sent()).map(({ method }) => method))
    return requested
  }
  await expect.poll(methods).toEqual(['resources/list', 'resources/templates/list'])
  others.close()
  others.changed()
  await sleep(250) // longer than a watch waits for further changes
  expect(await methods()).toHaveLength(2)
})
