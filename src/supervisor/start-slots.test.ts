import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { StartSlots } from './start-slots.ts'

const never = () => new AbortController().signal

test('at most 4 slots are taken at once, and they are given in order', async () => {
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

test('a slot is released after its time limit, and not before', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const slots = new StartSlots(1, 30_000)
  await slots.acquire(never())
  let isGiven = false
  const next = slots.acquire(never()).then((release) => {
    isGiven = true
    return release
  })
  await vi.advanceTimersByTimeAsync(29_999)
  expect(isGiven).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(await next).toBeTypeOf('function')
})

test('an aborted request does not take a slot', async () => {
  const slots = new StartSlots(1, 10_000)
  const first = await slots.acquire(never())
  const abort = new AbortController()
  const aborted = slots.acquire(abort.signal)
  const next = slots.acquire(never())
  abort.abort()
  expect(await aborted).toBeUndefined()
  first?.()
  expect(await next).toBeTypeOf('function')
  expect(await slots.acquire(AbortSignal.abort())).toBeUndefined()
})

test('each turn of the event loop gives at most two slots, so that requests are answered between the starts', async () => {
  const slots = new StartSlots(4, 10_000)
  let turn = 0
  const counting = { isOver: false }
  const count = () => {
    turn += 1
    if (!counting.isOver) setImmediate(count)
  }
  count()
  const turns = await Promise.all(Array.from({ length: 4 }, () => slots.acquire(never()).then(() => turn)))
  counting.isOver = true
  expect(turns).toEqual([1, 1, 2, 2].map((n) => n + (turns[0] ?? 0) - 1))
})

test('slots that become free at nearly the same time are given together: two starts in a row cost less', async () => {
  const slots = new StartSlots(4, 600_000)
  const held = await Promise.all(Array.from({ length: 4 }, () => slots.acquire(never())))
  const given: number[] = []
  for (const n of [1, 2, 3])
    void slots.acquire(never()).then((release) => {
      given.push(n)
      held.push(release)
    })
  await sleep(5) // the next turn has no starts yet, so a slot would be given without a timer
  held[0]?.()
  for (let n = 0; n < 20; n += 1) await Promise.resolve()
  expect(given).toEqual([])
  held[1]?.()
  for (let n = 0; n < 20; n += 1) await Promise.resolve()
  expect(given).toEqual([1, 2])
  held[2]?.()
  await expect.poll(() => given).toEqual([1, 2, 3]) // no second one became free
  for (const release of held) release?.()
})

test('a start that no other precedes waits for no turn of the event loop', async () => {
  const slots = new StartSlots(4, 10_000)
  for (const round of ['first', 'later']) {
    let isNextTurn = false
    setImmediate(() => {
      isNextTurn = true
    })
    await slots.acquire(never())
    expect(isNextTurn, round).toBe(false)
    await sleep(5)
  }
})
