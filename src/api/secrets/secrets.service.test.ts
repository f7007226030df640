import { expect, test } from 'vitest'
import { FactBus } from '../../kernel/fact-bus.ts'
import { KnownSecrets } from '../../kernel/secrets/known-secrets.ts'
import { createSecrets, type SecretRecord } from './secrets.service.ts'

const BY = { request_id: null }

test('1,000 secrets can be stored: another one is refused, one of them can still be changed', async () => {
  const records = new Map<string, SecretRecord>()
  const secrets = createSecrets({
    store: {
      all: () => [...records.values()],
      find: (name) => records.get(name),
      save: async (record) => void records.set(record.name, record),
      remove: async (name) => void records.delete(name),
    },
    facts: new FactBus(() => {}),
    secrets: new KnownSecrets(),
    usedBy: async () => [],
    now: () => 0,
  })
  for (let n = 0; n < 1000; n += 1) await secrets.set(`NAME_${n}`, `value of number ${n}`, BY)
  await expect(secrets.set('ONE_MORE', 'value', BY)).rejects.toMatchObject({ code: 'limit_reached' })
  expect(await secrets.set('NAME_999', 'another value', BY)).toMatchObject({ name: 'NAME_999' })
  await secrets.remove('NAME_0', false, BY)
  expect(await secrets.set('ONE_MORE', 'value', BY)).toMatchObject({ name: 'ONE_MORE' })
})
