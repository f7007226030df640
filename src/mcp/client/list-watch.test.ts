import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { CallFailure } from '../protocol/call-failure.ts'
import { ChangeSubscription } from './change-subscription.ts'
import { ListWatch, NO_TOOLS, type ToolList } from './server-lists.ts'

const LIST: ToolList = { tools: [{ name: 'a' }], truncated: false, duplicates: 0 }
const unknown = new CallFailure('remote', 'no', { code: -32601, message: 'no' })

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** A watch of a server that takes `takesMs` for each list and returns `outcomes` in order. */
function watched(takesMs = 0, outcomes: (ToolList | Error)[] = []) {
  const requests: number[] = []
  const lists: ToolList[] = []
  let [running, most] = [0, 0]
  const list = async () => {
    requests.push(performance.now())
    most = Math.max(most, ++running)
    await new Promise((resolve) => setTimeout(resolve, takesMs))
    running -= 1
    const outcome = outcomes.shift() ?? LIST
    if (outcome instanceof Error) throw outcome
    return outcome
  }
  const watch = new ListWatch({
    list,
    timeoutMs: 5000,
    none: NO_TOOLS,
    onList: (found) => lists.push(found),
  })
  const first = async () => {
    const done = watch.fetch(5000)
    done.catch(() => {}) // the test checks it later
    await pass(takesMs)
    return done
  }
  return { watch, first, requests, lists, most: () => most }
}

describe('list watch', () => {
  test('several changes in a row cause one request', async () => {
    const { watch, first, requests } = watched()
    await first()
    for (let n = 0; n < 5; n += 1) {
      watch.changed()
      await pass(50)
    }
    expect(requests).toHaveLength(1)
    await pass(100)
    expect(requests).toHaveLength(2)
    await pass(10_000)
    expect(requests).toHaveLength(2)
  })

  test('endless changes cause a request at least every second, and never two at a time', async () => {
    const { watch, first, requests, most } = watched(400)
    await first()
    for (let n = 0; n < 500; n += 1) {
      watch.changed()
      await pass(10)
    }
    expect(requests.length).toBeGreaterThanOrEqual(4)
    expect(requests.length).toBeLessThanOrEqual(11)
    expect(most()).toBe(1)
  })

  test('a change before the first request causes no other request, a change during it does', async () => {
    const { watch, first, requests } = watched(50)
    watch.changed()
    await pass(5000)
    expect(requests).toHaveLength(0)
    const done = first()
    watch.changed()
    await done
    await pass(5000)
    expect(requests).toHaveLength(2)
  })

  test.each([
    ['the first one', []],
    ['a later one', [LIST]],
  ])(
    'a request that fails is repeated after growing pauses until it succeeds, be it %s',
    async (_, before) => {
      const broken = Array.from({ length: 9 }, () => new CallFailure('timeout', 'late'))
      const { watch, first, requests, lists } = watched(0, [...before, ...broken])
      await first().catch(() => {})
      if (before.length > 0) watch.changed()
      await pass(300_000)
      const pauses = requests
        .slice(before.length)
        .map((at, n, all) => Math.round((at - (all[n - 1] ?? at)) / 1000))
      expect(pauses).toEqual([0, 1, 2, 4, 8, 16, 32, 60, 60, 60])
      expect(lists).toHaveLength(before.length + 1)
      expect(watch.failure).toBeUndefined()
    },
  )

  test('a change ends the pause after failures, and a known list stays when the method becomes unsupported', async () => {
    const { watch, first, requests, lists } = watched(0, [LIST, unknown, unknown, unknown])
    await first()
    watch.changed()
    await pass(3500)
    expect(requests).toHaveLength(4) // after 0.1, 1.1 and 3.1 s
    watch.changed()
    await pass(101)
    expect(requests).toHaveLength(5)
    expect(lists).toEqual([LIST, LIST])
  })

  test('callers that need the list after a change share one request, which begins after the one in progress', async () => {
    const { watch, first, requests, most } = watched(50)
    await first()
    watch.changed()
    await pass(120) // a request is in progress
    const all = Promise.all([1, 2, 3].map(() => watch.fetchNext(5000)))
    await pass(100)
    await all
    expect([requests.length, most()]).toEqual([3, 1])
  })

  test('the list is empty when the server does not support the method, and any other error rejects', async () => {
    const [one, other] = [watched(0, [unknown]), watched(0, [new CallFailure('remote', 'broken')])]
    await one.first()
    expect(one.lists).toEqual([{ tools: [], truncated: false, duplicates: 0 }])
    await expect(other.first()).rejects.toThrow('broken')
  })

  test('a closed watch ignores changes', async () => {
    const { watch, first, requests } = watched()
    await first()
    watch.changed()
    watch.close()
    watch.changed()
    await pass(5000)
    expect(requests).toHaveLength(1)
  })
})

describe('change subscription', () => {
  function subscribe(outcome: () => Promise<unknown>) {
    const requests: unknown[][] = []
    let gaps = 0
    const request = (...args: unknown[]) => {
      requests.push(args)
      return outcome()
    }
    const requester = { request, requestRaw: () => Promise.reject(new Error('not expected')) }
    const onGap = () => {
      gaps += 1
    }
    const subscription = new ChangeSubscription(requester, onGap, { toolsListChanged: true })
    onTestFinished(() => subscription.close())
    return { subscription, requests, gaps: () => gaps }
  }

  test.each([
    ['a result', () => Promise.resolve({})],
    ['an error', () => Promise.reject(new CallFailure('remote', 'full'))],
  ])('a subscription that ends with %s is renewed once a minute and reports the gap', async (_, outcome) => {
    const { subscription, requests, gaps } = subscribe(outcome)
    expect(requests[0]).toEqual([
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { timeoutMs: null },
    ])
    await pass(59_000)
    expect(requests).toHaveLength(1)
    await pass(122_000)
    expect([requests.length, gaps()]).toEqual([4, 3])
    subscription.close()
    await pass(600_000)
    expect(requests).toHaveLength(4)
  })

  test.each([
    ['the server does not support', unknown],
    ['has lost its connection', new CallFailure('closed', 'gone')],
  ])('a subscription that %s is not renewed', async (_, error) => {
    const { requests } = subscribe(() => Promise.reject(error))
    await pass(600_000)
    expect(requests).toHaveLength(1)
  })
})
