import { setImmediate as nextTurn } from 'node:timers/promises'
import { sql } from 'kysely'
import { expect, onTestFinished, test, vi } from 'vitest'
import { ownFolder } from '../../test/support/folder.ts'
import { FactBus } from '../kernel/fact-bus.ts'
import { ConfigurationDatabase } from './configuration/configuration.ts'
import { openDesiredStates } from './desired-states.store.ts'

async function openStore(folder = ownFolder()) {
  const facts = new FactBus((error) => {
    throw error
  })
  const database = await ConfigurationDatabase.open({ folder, facts })
  onTestFinished(() => database.close())
  return { folder, facts, database, desiredStates: await openDesiredStates(database) }
}

const started = (subject: string) => ({ action: 'server_started', subject, request_id: null, detail: {} })
const ids = Array.from({ length: 50 }, (_, n) => `server-${n}`)

test('the desiredStates of many servers at once are one transaction with an audit row each, and are kept', async () => {
  const { folder, facts, database, desiredStates } = await openStore()
  const change = vi.spyOn(database, 'change')
  const audited: string[] = []
  facts.on('audited', ({ subject }) => audited.push(subject))
  await Promise.all(ids.map((id) => desiredStates.setDesired(id, 'running', started(id))))
  expect(change).toHaveBeenCalledTimes(1)
  expect(audited).toEqual(ids)
  await desiredStates.setDesired('server-1', undefined, null)
  await desiredStates.setDesired('server-2', 'stopped', null)
  expect(change).toHaveBeenCalledTimes(3)
  for (const each of [desiredStates, (await openStore(folder)).desiredStates]) {
    expect(each.desired('server-0')).toBe('running')
    expect(each.desired('server-1')).toBeUndefined()
    expect(each.desired('server-2')).toBe('stopped')
  }
})

test('desiredStates that cannot be stored change nothing, and later ones can be stored', async () => {
  const { database, desiredStates } = await openStore()
  await sql`alter table wishes rename to elsewhere`.execute(database.db)
  const both = ['one', 'two'].map((id) => desiredStates.setDesired(id, 'running', null))
  for (const each of both) await expect(each).rejects.toThrow('no such table')
  expect(desiredStates.desired('one')).toBeUndefined()
  await sql`alter table elsewhere rename to wishes`.execute(database.db)
  await desiredStates.setDesired('one', 'running', null)
  expect(desiredStates.desired('one')).toBe('running')
})

test('desiredStates that follow each other within 10 ms are one transaction', async () => {
  const { database, desiredStates } = await openStore()
  const change = vi.spyOn(database, 'change')
  const saved: Promise<void>[] = []
  const startedAt = performance.now()
  for (const id of ids) {
    saved.push(desiredStates.setDesired(id, 'running', null))
    await nextTurn() // requests on different connections are read in different turns
  }
  await Promise.all(saved)
  expect(change.mock.calls.length).toBeLessThan(3 + (performance.now() - startedAt) / 10)
  expect(ids.map((id) => desiredStates.desired(id))).toEqual(ids.map(() => 'running'))
})
