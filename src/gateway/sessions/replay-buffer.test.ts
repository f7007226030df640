import { expect, test } from 'vitest'
import { ReplayBuffers } from './event-stream.ts'

const KIB = 1024

test('a session keeps its last 256 events, each with a unique number', () => {
  const log = new ReplayBuffers().open()
  for (let event = 0; event < 300; event += 1) log.keep(event % 2, log.next(), Buffer.from(`${event}`))
  const kept = [...log.after(0, 0), ...log.after(1, 0)].map(String)
  expect(kept).toHaveLength(256)
  expect(kept).not.toContain('43')
  expect(kept).toContain('44')
  expect(log.after(1, 298).map(String)).toEqual(['299'])
  expect([log.has(1, 300), log.has(0, 300), log.has(1, 2)]).toEqual([true, false, false])
})

test('a session keeps at most 1 MiB of events, and no larger event', () => {
  const log = new ReplayBuffers().open()
  for (let event = 0; event < 5; event += 1) log.keep(1, log.next(), Buffer.alloc(300 * KIB))
  expect(log.after(1, 0)).toHaveLength(3)
  log.keep(1, log.next(), Buffer.alloc(KIB * KIB + 1))
  expect(log.after(1, 0)).toHaveLength(3)
})

test('at the common limit of all sessions the oldest event of any session is dropped', () => {
  const logs = new ReplayBuffers(10 * KIB)
  const [quiet, busy] = [logs.open(), logs.open()]
  const keep = (log: typeof quiet, times: number) => {
    for (let event = 0; event < times; event += 1) log.keep(1, log.next(), Buffer.alloc(KIB))
  }
  keep(quiet, 5)
  keep(busy, 7)
  expect([quiet, busy].map((log) => log.after(1, 0).length)).toEqual([3, 7])
  busy.close()
  keep(quiet, 8)
  expect(quiet.after(1, 0)).toHaveLength(10)
})
