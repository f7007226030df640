import { expect, test } from 'vitest'
import type { Facts } from '../kernel/facts.ts'
import { statePublisher } from './package-states.ts'
import type { InstalledVersion, PackageRecord, PackageStore } from './package-store.ts'

test('the state of a package is published when it changes, and once more when the package is removed', () => {
  const records: PackageRecord[] = []
  const states: Facts['package_state'][] = []
  const store = { all: () => records } as unknown as PackageStore
  const publish = statePublisher(store, (state) => states.push(state))
  const record = (version: string, latest: string, deprecated: string | null = null) => {
    const current = { version, deprecated } as InstalledVersion
    return { id: 'notes', name: 'notes', latest, current, previous: null }
  }
  records[0] = record('1.0.0', '1.0.0')
  publish()
  publish()
  records[0] = record('1.0.0', '1.1.0', 'use 1.1')
  publish()
  records[0] = record('1.1.0', '1.1.0')
  publish()
  records.pop()
  publish()
  publish()
  const of = (version: string | null, update: string | null, deprecated: string | null) => {
    return { package_id: 'notes', name: 'notes', version, update, deprecated }
  }
  expect(states).toEqual([
    of('1.0.0', null, null),
    of('1.0.0', '1.1.0', 'use 1.1'),
    of('1.1.0', null, null),
    of(null, null, null),
  ])
})
