import { getHeapStatistics } from 'node:v8'
import { expect, test } from 'vitest'
import { IdleGarbageCollection } from './idle-garbage-collection.ts'

const MIB = 1024 * 1024
const usedMib = () => getHeapStatistics().used_heap_size / MIB

/** Memory that nothing refers to afterwards. */
function leaveGarbage(mib: number): void {
  const lists = Array.from({ length: mib }, () => new Array<number>(MIB / 8).fill(0.5))
  expect(lists).toHaveLength(mib)
}

test('an idle process collects its garbage, and again only when there is enough of it', () => {
  const memory = new IdleGarbageCollection()
  expect(memory.tidy()).toBe(true)
  const before = usedMib()
  leaveGarbage(40)
  expect(usedMib()).toBeGreaterThan(before + 30)
  expect(memory.tidy()).toBe(true)
  expect(usedMib()).toBeLessThan(before + 8)
  expect(memory.tidy()).toBe(false)
})
