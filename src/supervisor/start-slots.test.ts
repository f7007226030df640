import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { StartSlots } from './start-slots.ts'

const never = () => new AbortController().signal

test('no more than the places are taken at once, and all get their turn in order', async () => {
  const slots = new StartSlots(4, 10_000)
  let most = 0
  let now = 0
  const order: number[] = []
  const start = async (n: number) => {
    const release = await slots.acquire(never())
    order.push(n)
    now += 1
    most = Math.max(most, now)
    await sleep(Math.random() * 5)
    now -= 1
    release?.()
    release?.()
  }
  await Promise.all(Array.from({ length: 50 }, (_, n) => start(n)))
  expect(most).toBe(4)
  expect(order).toEqual(Array.from({ length: 50 }, (_, n) => n))
})

test('one that is stuck gives its place back by itself', async () => {
  const slots = new StartSlots(1, 30)
  await slots.acquire(never())
  const startedAt = performance.now()
  expect(await slots.acquire(never())).toBeTypeOf('function')
  expect(performance.now() - startedAt).toBeGreaterThan(20)
})

test('who takes its wish back costs nobody a place', async () => {
  const slots = new StartSlots(1, 10_000)
  const first = await slots.acquire(never())
  const abort = new AbortController()
  const given = slots.acquire(abort.signal)
  const patient = slots.acquire(never())
  abort.abort()
  expect(await given).toBeUndefined()
  first?.()
  expect(await patient).toBeTypeOf('function')
  expect(await slots.acquire(AbortSignal.abort())).toBeUndefined()
})
