import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { CallFailure } from '../../protocol/call.ts'
import { ChangeSubscription } from './change-subscription.ts'
import { ListWatch } from './list-watch.ts'
import { NO_TOOLS, type ToolList } from './tool-list.ts'

const LIST: ToolList = { tools: [{ name: 'a' }], truncated: false, duplicates: 0 }
const unknown = new CallFailure('remote', 'no', { code: -32601, message: 'no' })

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
})
const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

/** A watch over a server that takes `takesMs` for a list, and gives `outcomes` in turn. */
function watched(takesMs = 0, outcomes: (ToolList | Error)[] = []) {
  const begun: number[] = []
  const lists: ToolList[] = []
  let [underway, most] = [0, 0]
  const list = async () => {
    begun.push(performance.now())
    most = Math.max(most, ++underway)
    await new Promise((resolve) => setTimeout(resolve, takesMs))
    underway -= 1
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
    done.catch(() => {}) // the test looks at it later
    await pass(takesMs)
    return done
  }
  return { watch, first, begun, lists, most: () => most }
}

describe('tools that change', () => {
  test('several times in a row are listed once', async () => {
    const { watch, first, begun } = watched()
    await first()
    for (let n = 0; n < 5; n += 1) {
      watch.changed()
      await pass(50)
    }
    expect(begun).toHaveLength(1)
    await pass(100)
    expect(begun).toHaveLength(2)
    await pass(10_000)
    expect(begun).toHaveLength(2)
  })

  test('without an end are listed at least every second, and never twice at a time', async () => {
    const { watch, first, begun, most } = watched(400)
    await first()
    for (let n = 0; n < 500; n += 1) {
      watch.changed()
      await pass(10)
    }
    expect(begun.length).toBeGreaterThanOrEqual(4)
    expect(begun.length).toBeLessThanOrEqual(11)
    expect(most()).toBe(1)
  })

  test('before the first list are in it, and during it are listed again', async () => {
    const { watch, first, begun } = watched(50)
    watch.changed()
    await pass(5000)
    expect(begun).toHaveLength(0)
    const done = first()
    watch.changed()
    await done
    await pass(5000)
    expect(begun).toHaveLength(2)
  })

  test('are asked for once more when that failed, and then left', async () => {
    const broken = new CallFailure('timeout', 'late')
    const { watch, first, begun, lists } = watched(0, [LIST, broken, broken, broken])
    await first()
    watch.changed()
    await pass(100)
    expect(begun).toHaveLength(2)
    await pass(1001)
    expect(begun).toHaveLength(3)
    await pass(60_000)
    expect(begun).toHaveLength(3)
    watch.changed()
    await pass(1201)
    expect(begun).toHaveLength(5)
    expect(lists).toHaveLength(2)
  })

  test('are none where the question is not known, and any other refusal is an error', async () => {
    const [one, other] = [watched(0, [unknown]), watched(0, [new CallFailure('remote', 'broken')])]
    await one.first()
    expect(one.lists).toEqual([{ tools: [], truncated: false, duplicates: 0 }])
    await expect(other.first()).rejects.toThrow('broken')
  })

  test('are nobody’s business after the end', async () => {
    const { watch, first, begun } = watched()
    await first()
    watch.changed()
    watch.close()
    watch.changed()
    await pass(5000)
    expect(begun).toHaveLength(1)
  })
})

describe('listening', () => {
  function listening(outcome: () => Promise<unknown>) {
    const asked: unknown[][] = []
    let gaps = 0
    const request = (...args: unknown[]) => {
      asked.push(args)
      return outcome()
    }
    const asker = { request, requestRaw: () => Promise.reject(new Error('not asked for')) }
    const onGap = () => {
      gaps += 1
    }
    const own = new ChangeSubscription(asker, onGap, { toolsListChanged: true })
    onTestFinished(() => own.close())
    return { own, asked, gaps: () => gaps }
  }

  test.each([
    ['a result', () => Promise.resolve({})],
    ['a refusal', () => Promise.reject(new CallFailure('remote', 'full'))],
  ])('that ends with %s begins again once a minute, and looks what was missed', async (_, outcome) => {
    const { own, asked, gaps } = listening(outcome)
    expect(asked[0]).toEqual([
      'subscriptions/listen',
      { notifications: { toolsListChanged: true } },
      { timeoutMs: null },
    ])
    await pass(59_000)
    expect(asked).toHaveLength(1)
    await pass(122_000)
    expect([asked.length, gaps()]).toEqual([4, 3])
    own.close()
    await pass(600_000)
    expect(asked).toHaveLength(4)
  })

  test.each([
    ['is unknown there', unknown],
    ['has lost its server', new CallFailure('closed', 'gone')],
  ])('that %s is over', async (_, error) => {
    const { asked } = listening(() => Promise.reject(error))
    await pass(600_000)
    expect(asked).toHaveLength(1)
  })
})
