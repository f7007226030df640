import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../test/support/folder.ts'
import { FactBus } from '../kernel/fact-bus.ts'
import { ConfigurationDatabase } from './configuration/configuration.ts'
import { openKeyStore } from './keys.store.ts'

async function openStore(folder = ownFolder()) {
  const facts = new FactBus((error) => {
    throw error
  })
  const database = await ConfigurationDatabase.open({ folder, facts })
  onTestFinished(() => database.close())
  return { folder, store: await openKeyStore(database, (type) => (type === 'claude' ? 'claude-code' : type)) }
}

const KEY = {
  id: 'key_1',
  name: 'laptop',
  agent_type: 'claude',
  digest: 'digest-1',
  created_at: 1,
  last_used_at: null,
}
const row = (action: string) => ({ action, subject: 'key_1', request_id: null, detail: {} })

test('a key is found by its digest, has the settings of its agent, and is the same after a restart', async () => {
  const { folder, store } = await openStore()
  await store.save(KEY, row('key_added'))
  expect(store.find('digest-1')).toEqual(KEY)
  await store.save({ ...KEY, last_used_at: 5 }, null)
  const again = (await openStore(folder)).store
  expect(again.find('digest-1')).toEqual({ ...KEY, agent_type: 'claude-code', last_used_at: 5 })
  expect(again.find('digest-2')).toBeUndefined()
})

test('a use that is saved after its key was deleted does not bring the key back', async () => {
  const { folder, store } = await openStore()
  await store.save(KEY, row('key_added'))
  await Promise.all([
    store.remove('key_1', row('key_removed')),
    store.save({ ...KEY, last_used_at: 5 }, null), // of a call that came a moment earlier
  ])
  expect([store.all(), store.find('digest-1')]).toEqual([[], undefined])
  expect((await openStore(folder)).store.all()).toEqual([])
})
