import { expect, onTestFinished, test } from 'vitest'
import { ownFolder } from '../../test/support/folder.ts'
import { FactBus } from '../kernel/fact-bus.ts'
import { ConfigurationDatabase } from './configuration/configuration.ts'
import { openVault } from './open-vault.ts'

const KEY = Buffer.alloc(32, 9)
const source = (key: Buffer | undefined) => ({ file: '/the/secret.key', find: () => key, create: () => KEY })

/** A row of each table with ciphertext, for which the old key is needed. */
const SEALED = {
  secrets: { name: 'A', sealed: 'x' },
  saved_calls: { id: 'a', body: 'x' },
  logins: { server_id: 'docs', sealed: 'x' },
  oauth_clients: { id: '[]', sealed: 'x' },
  agent_files: { id: 'cursor', body: 'x' },
  agent_changes: { id: 'a', body: 'x' },
} as const

test.each(Object.keys(SEALED) as (keyof typeof SEALED)[])(
  'with a row in %s, a missing secret key is reported, and no new one is made, which could not open the row',
  async (table) => {
    const facts = new FactBus((error) => {
      throw error
    })
    const database = await ConfigurationDatabase.open({ folder: ownFolder(), facts })
    onTestFinished(() => database.close())
    await openVault(database, source(undefined))
    await database.db.insertInto(table).values(SEALED[table]).execute()
    await expect(openVault(database, source(undefined))).rejects.toThrow(
      'The secret key for the stored secrets',
    )
    await openVault(database, source(KEY))
    await expect(openVault(database, source(Buffer.alloc(32, 1)))).rejects.toThrow('does not match')
  },
)
