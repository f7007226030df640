import { expect, test } from 'vitest'
import { InFlight } from './pending-requests.ts'

test('entries in flight are found by id and listed in insertion order until they are deleted', () => {
  const flights = new InFlight<string | number, string>()
  flights.add(0, 'zero')
  flights.add('0', 'a string')
  flights.add(7, 'seven')
  expect([flights.get(0), flights.get('0'), flights.get(8)]).toEqual(['zero', 'a string', undefined])
  expect(flights.delete(0)).toBe(true)
  expect(flights.delete(0)).toBe(false)
  expect([flights.has(0), flights.has('0'), flights.size]).toEqual([false, true, 2])
  for (const _ of flights.values()) flights.delete('0') // values() is a copy
  expect(flights.values()).toEqual(['seven'])
})
