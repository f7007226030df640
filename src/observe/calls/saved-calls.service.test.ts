import { expect, test } from 'vitest'
import { createSavedCalls, type SavedCallRecord } from './saved-calls.service.ts'

const BY = { request_id: null }
const INPUT = { name: 'Say hello', server_id: 'echo', tool: 'echo' }

test('500 calls can be saved: another one is refused, one of them can still be replaced (docs/calls.md)', async () => {
  const records = new Map<string, SavedCallRecord>()
  const saved = createSavedCalls({
    store: {
      all: () => [...records.values()],
      get: (id) => records.get(id),
      put: async (record) => void records.set(record.id, record),
      remove: async (id) => records.delete(id),
    },
    now: () => 0,
  })
  for (let n = 0; n < 500; n += 1) await saved.put(`call-${n}`, INPUT, BY)
  await expect(saved.put('one-more', INPUT, BY)).rejects.toMatchObject({ code: 'limit_reached' })
  expect(await saved.put('call-499', { ...INPUT, name: 'Other' }, BY)).toMatchObject({ isNew: false })
  await saved.remove('call-0', BY)
  expect(await saved.put('one-more', INPUT, BY)).toMatchObject({ isNew: true })
})
