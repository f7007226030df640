import { expect, onTestFinished, test, vi } from 'vitest'
import { DeadlineTimer } from './pending-requests.ts'

function open() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] })
  onTestFinished(() => void vi.useRealTimers())
  const reached: string[] = []
  const requests = new Set<{ dueAt: number | undefined; onDeadline: () => void }>()
  const timer = new DeadlineTimer(() => [...requests])
  const request = (name: string, ms: number) => {
    const own = {
      dueAt: undefined as number | undefined,
      onDeadline: () => {
        requests.delete(own)
        reached.push(name)
      },
    }
    requests.add(own)
    timer.set(own, ms)
    return own
  }
  return { timer, requests, reached, request }
}

test('each request reaches its own deadline, in any order in which they are set', () => {
  const { reached, request } = open()
  request('late', 300)
  request('early', 100)
  request('middle', 200)
  vi.advanceTimersByTime(99)
  expect(reached).toEqual([])
  for (const [ms, all] of [
    [1, ['early']],
    [100, ['early', 'middle']],
    [100, ['early', 'middle', 'late']],
  ] as const) {
    vi.advanceTimersByTime(ms)
    expect(reached).toEqual(all)
  }
})

test('a settled request reaches none, a moved deadline counts, and a request without one waits', () => {
  const { reached, request, requests, timer } = open()
  requests.delete(request('settled', 100))
  const moved = request('moved', 100)
  const paused = request('paused', 100)
  moved.dueAt = performance.now() + 250
  timer.set(paused, Number.POSITIVE_INFINITY)
  vi.advanceTimersByTime(249)
  expect(reached).toEqual([])
  vi.advanceTimersByTime(1)
  expect(reached).toEqual(['moved'])
  vi.advanceTimersByTime(1_000_000)
  expect(reached).toEqual(['moved'])
})

test('many requests share one timer, and none is left after the end', () => {
  const { request, timer } = open()
  for (let made = 0; made < 100; made += 1) request('one', 60_000)
  expect(vi.getTimerCount()).toBe(1)
  timer.clear()
  expect(vi.getTimerCount()).toBe(0)
})
