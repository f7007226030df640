import type { SecretRecord, SecretStore } from '../api/secrets/secrets.service.ts'
import type { Vault } from '../kernel/secrets/vault.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** Named secrets, each sealed together with its date. Decrypted once, then answered from memory. */
export async function openSecretStore(database: ConfigurationDatabase, vault: Vault): Promise<SecretStore> {
  const records = new Map<string, SecretRecord>()
  for (const { name, sealed } of await database.db.selectFrom('secrets').selectAll().execute()) {
    try {
      records.set(name, { name, ...(vault.open(placeOf(name), sealed) as Omit<SecretRecord, 'name'>) })
    } catch {
      throw await database.refuse(`the secret '${name}' cannot be read`)
    }
  }
  return {
    all: () => [...records.values()],
    find: (name) => records.get(name),
    save: (record, audit) =>
      database.change<void>(
        async (trx) => {
          const { name, ...body } = record
          await trx
            .replaceInto('secrets')
            .values({ name, sealed: vault.seal(placeOf(name), body) })
            .execute()
          return [undefined, audit]
        },
        { committed: () => records.set(record.name, record) },
      ),
    remove: (name, audit) =>
      database.change<void>(
        async (trx) => {
          await trx.deleteFrom('secrets').where('name', '=', name).execute()
          return [undefined, audit]
        },
        { frees: true, committed: () => records.delete(name) },
      ),
  }
}

/** No server's place has a slash. */
export const placeOf = (name: string): string => `secret/${name}`
