import { randomBytes } from 'node:crypto'
import { onTestFinished } from 'vitest'
import { type StoreHouse, storeContract, type TestServer } from '../../test/store.contract.ts'
import { ownFolder } from '../../test/support/folder.ts'
import { FactBus } from '../kernel/fact-bus.ts'
import { Vault } from '../kernel/secrets/vault.ts'
import { ConfigurationDatabase } from './configuration/configuration.ts'
import { ServerTable } from './servers.store.ts'

storeContract((maximum) => {
  const folder = ownFolder()
  const vault = new Vault(randomBytes(32))
  return openStores(folder, vault, maximum)
})

async function openStores(folder: string, vault: Vault, maximum: number): Promise<StoreHouse> {
  const facts = new FactBus((error) => {
    throw error
  })
  const database = await ConfigurationDatabase.open({ folder, facts })
  onTestFinished(() => database.close())
  const table = await ServerTable.open(database, vault, maximum)
  return {
    stdio: table.of<TestServer>('stdio'),
    http: table.of<TestServer>('http'),
    audit: async () => {
      const rows = await database.db
        .selectFrom('audit')
        .select(['action', 'subject', 'detail'])
        .orderBy('id')
        .execute()
      return rows.map((row) => ({ ...row, detail: JSON.parse(row.detail) }))
    },
    reopen: () => openStores(folder, vault, maximum),
  }
}
