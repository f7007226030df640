import { expect, test } from 'vitest'
import { FactBus } from './fact-bus.ts'

const removed = (server_id: string) => ({ server_id, type: 'stdio' as const })

test('facts are published in their order, to every listener that is subscribed at that moment', () => {
  const facts = new FactBus(() => {})
  const early: string[] = []
  const late: string[] = []
  const end = facts.on('server_removed', ({ server_id }) => early.push(server_id))
  facts.publish('server_removed', removed('first'))
  facts.on('server_removed', ({ server_id }) => late.push(server_id))
  facts.publish('server_removed', removed('second'))
  end()
  facts.publish('server_removed', removed('third'))
  expect(early).toEqual(['first', 'second'])
  expect(late).toEqual(['second', 'third'])
})

test('a listener that fails keeps no other listener from a fact', () => {
  const errors: unknown[] = []
  const facts = new FactBus((error) => errors.push(error))
  const seen: string[] = []
  facts.on('server_removed', () => {
    throw new Error('not this one')
  })
  facts.on('server_removed', ({ server_id }) => seen.push(server_id))
  facts.publish('server_removed', removed('good'))
  expect(seen).toEqual(['good'])
  expect(errors).toHaveLength(1)
})
