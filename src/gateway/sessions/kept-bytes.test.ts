import { expect, test } from 'vitest'
import { RpcError } from '../messages/rpc-error.ts'
import { KeptBytes } from './sessions.ts'

const MIB = 1024 * 1024
const errorOf = (work: () => void): RpcError | undefined => {
  try {
    work()
    return undefined
  } catch (error) {
    return error as RpcError
  }
}

test('what exceeds the limit of a key is refused, what is freed can be taken again, and other keys are not affected', () => {
  const kept = new KeptBytes({ ofKey: 2 * MIB, ofAll: 5 * MIB })
  kept.take('a', 2 * MIB)
  const refused = errorOf(() => kept.take('a', 1))
  expect(refused).toMatchObject({ code: -31429, status: 429, data: { code: 'too_much_kept' } })
  expect(refused?.message).toBe(
    'Toolroom keeps at most 2 MiB for this gateway key: sessions, subscriptions and pending requests',
  )
  kept.take('b', 2 * MIB)
  kept.free('a', MIB)
  kept.take('a', MIB)
  expect(errorOf(() => kept.take('a', 1))).toBeInstanceOf(RpcError)
})

test('what exceeds the limit of all keys together is refused, and counts for none of them', () => {
  const kept = new KeptBytes({ ofKey: 2 * MIB, ofAll: 3 * MIB })
  kept.take('a', 2 * MIB)
  expect(errorOf(() => kept.take('b', 2 * MIB))?.message).toContain('at most 3 MiB for all agents')
  kept.take('b', MIB)
  kept.free('a', 2 * MIB)
  kept.take('b', MIB)
  expect(errorOf(() => kept.take('b', 1))).toBeInstanceOf(RpcError)
})
