import { expect, test } from 'vitest'
import { FactBus } from './facts.ts'

const removed = (server_id: string) => ({ server_id, type: 'stdio' as const })

test('facts that are held are published in their order on release, also to listeners that came later', () => {
  const facts = new FactBus(() => {})
  const early: string[] = []
  const late: string[] = []
  facts.on('server_removed', ({ server_id }) => early.push(server_id))
  facts.publish('server_removed', removed('before'))
  facts.hold()
  facts.publish('server_removed', removed('first'))
  facts.publish('server_removed', removed('second'))
  expect(early).toEqual(['before'])
  facts.on('server_removed', ({ server_id }) => late.push(server_id))
  facts.release()
  facts.publish('server_removed', removed('after'))
  expect(early).toEqual(['before', 'first', 'second', 'after'])
  expect(late).toEqual(['first', 'second', 'after'])
})

test('a listener that fails on a held fact keeps no other fact back', () => {
  const errors: unknown[] = []
  const facts = new FactBus((error) => errors.push(error))
  const seen: string[] = []
  facts.hold()
  facts.on('server_removed', ({ server_id }) => {
    if (server_id === 'bad') throw new Error('not this one')
    seen.push(server_id)
  })
  for (const id of ['bad', 'good']) facts.publish('server_removed', removed(id))
  facts.release()
  expect(seen).toEqual(['good'])
  expect(errors).toHaveLength(1)
})
