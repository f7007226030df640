import { expect, test } from 'vitest'
import { readList, stillThere } from './taskkill-groups.ts'

const LIST = readList(
  ['4 0 100', '10 4 200', '11 10 300', '12 11 400', '13 10 150', '20 99 50', 'ProcessId', ''].join('\r\n'),
)
const pidsOf = (...known: Parameters<typeof stillThere>[0]) => [...stillThere(known, LIST).keys()]

test('the list of processes has the pid, the parent and the start of each', () => {
  expect(LIST).toHaveLength(6)
  expect(LIST[1]).toEqual({ pid: 10, parent: 4, startedAt: 200 })
})

test('what is left of a process is the process and its descendants, none of which is older than its parent', () => {
  expect(pidsOf({ pid: 10, startedAt: 200 })).toEqual([10, 11, 12])
})

test('another process with the pid of a known one is not left, nor are its children', () => {
  expect(pidsOf({ pid: 10, startedAt: 199 })).toEqual([])
})

test('a known descendant is left when its parent has ended', () => {
  expect(pidsOf({ pid: 9, startedAt: 1 }, { pid: 12, startedAt: 400 })).toEqual([12])
})
