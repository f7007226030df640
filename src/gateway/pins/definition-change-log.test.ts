import { expect, onTestFinished, test, vi } from 'vitest'
import type { AuditEntry } from '../../kernel/fact-bus.ts'
import { ChangeLog } from './definition-change-log.ts'

function open() {
  const entries: AuditEntry[] = []
  const log = new ChangeLog({
    log: { warn: () => {} },
    audit: async (entry) => void entries.push(entry),
    onError: (error) => expect.unreachable(String(error)),
  })
  const add = (names: readonly string[]) =>
    log.add({ server_id: 'renamer', kind: 'tool', what: 'held', names, diffs: [] })
  return { log, add, entries }
}

test('of a server that has thousands of new tool names all the time, at most 10,000 names are remembered', async () => {
  const { log, add, entries } = open()
  for (let time = 0; time < 5; time += 1) add(Array.from({ length: 5000 }, (_, n) => `tool-${time}-${n}`))
  await log.close()

  expect(entries.map(({ detail }) => [detail.times, detail.tool_count])).toEqual([
    [1, 5000],
    [4, 10_000],
  ])
})

test('a server that changes a tool every 10 s for a day leaves about 30 audit rows, which count every change', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { log, add, entries } = open()
  for (let second = 0; second < 86_400; second += 10) {
    add(['tool'])
    vi.advanceTimersByTime(10_000)
  }
  await log.close()

  expect(entries.length).toBeLessThan(32)
  expect(entries.reduce((sum, { detail }) => sum + Number(detail.times), 0)).toBe(8640)
})

test('a change after a minute without changes is reported at once', () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { add, entries } = open()
  for (let time = 0; time < 3; time += 1) {
    add(['tool'])
    vi.advanceTimersByTime(60_001)
  }
  expect(entries).toHaveLength(3)
})
