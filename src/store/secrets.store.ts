import type { SecretRecord, SecretStore } from '../api/secrets/secrets.service.ts'
import type { Vault } from '../kernel/secrets/vault.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** Named secrets, each sealed together with its date. Decrypted once, then answered from memory. */
export async function openSecretStore(database: ConfigurationDatabase, vault: Vault): Promise<SecretStore> {
  const records = new Map<string, SecretRecord>()
  for (const { name, sealed } of await database.db.selectFrom('secrets').selectAll().execute()) {
    try {
      records.set(name, { name, ...(vault.open(placeOfSecret(name), sealed) as Omit<SecretRecord, 'name'>) })
    } catch {
      throw await database.refuse(`the secret '${name}' cannot be read`)
    }
  }
  return {
    all: () => [...records.values()],
    find: (name) => records.get(name),
    save: (record, audit) => {
      const { name, ...body } = record
      const row = { name, sealed: vault.seal(placeOfSecret(name), body) }
      return database.put('secrets', row, audit, { committed: () => records.set(name, record) })
    },
    remove: (name, audit) => database.delete('secrets', ['name', name], audit, () => records.delete(name)),
  }
}

/** No server's place has a slash. */
export const placeOfSecret = (name: string): string => `secret/${name}`
