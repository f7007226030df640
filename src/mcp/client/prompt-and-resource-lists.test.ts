import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { pair } from '../../../test/support/pair.ts'
import { PromptAndResourceLists } from './prompt-and-resource-lists.ts'

function lists(timeoutMs = 5000) {
  const { peer, say, sent } = pair()
  const told: [string, unknown[]][] = []
  const others = new PromptAndResourceLists({
    requester: () => peer,
    timeoutMs,
    onList: (kind, items) =>
      told.push([kind, items.map((item) => item.uri ?? item.uriTemplate ?? item.name)]),
  })
  onTestFinished(() => others.close())
  return { others, told, say, sent }
}
const answer = (id: number, result: unknown) => ({ jsonrpc: '2.0', id, result })
const refusal = (id: number, code: number) => ({ jsonrpc: '2.0', id, error: { code, message: 'no' } })
const ALL = { prompts: {}, resources: {} }

test('only what is declared is asked for, each by itself and to its last page', async () => {
  const { others, told, say, sent } = lists()
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
  expect(told).toEqual([
    ['resource_templates', ['x://{a}']],
    ['prompts', ['a', 'b']],
  ])
})

test('who does not know the question, refuses it or stays silent has nothing, and hides nothing', async () => {
  const { others, told, say } = lists(100)
  others.begin(ALL)
  await say(refusal(1, -32601), refusal(2, -32603))
  expect(told).toEqual([
    ['prompts', []],
    ['resources', []],
  ])
  await expect.poll(() => told).toContainEqual(['resource_templates', []])
})

test('a change is asked for again, of resources with the templates, and after the end no more', async () => {
  const { others, told, say, sent } = lists()
  others.begin(ALL)
  await say(answer(1, { prompts: [] }), answer(2, { resources: [] }), answer(3, {}))
  expect(told).toHaveLength(3)
  await sent()
  others.onNotification('notifications/tools/list_changed')
  others.onNotification('notifications/resources/list_changed')
  others.onNotification('notifications/resources/list_changed')
  const asked: string[] = []
  const methods = async () => {
    asked.push(...(await sent()).map(({ method }) => method))
    return asked
  }
  await expect.poll(methods).toEqual(['resources/list', 'resources/templates/list'])
  others.close()
  others.changed()
  await sleep(250) // longer than it waits for the last of several announcements
  expect(await methods()).toHaveLength(2)
})
