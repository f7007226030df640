import type { KeyRecord } from '../gateway/keys/keys.schema.ts'
import type { KeyStore } from '../gateway/keys/keys.service.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** Digests of keys, read once and kept in memory beside the table. */
export async function openKeyStore(database: ConfigurationDatabase): Promise<KeyStore> {
  const rows: KeyRecord[] = await database.db.selectFrom('keys').selectAll().orderBy('created_at').execute()
  const records = new Map(rows.map((row) => [row.id, row]))
  let byDigest = new Map(rows.map((row) => [row.digest, row]))
  const changed = () => {
    byDigest = new Map([...records.values()].map((record) => [record.digest, record]))
  }
  return {
    find: (digest) => byDigest.get(digest),
    all: () => [...records.values()],
    save: (record, audit) =>
      database
        .change(
          async (trx) => {
            if (audit === null && !records.has(record.id)) return [false, null] // taken away meanwhile
            await trx.deleteFrom('keys').where('id', '=', record.id).execute()
            await trx.insertInto('keys').values(record).execute()
            return [true, audit]
          },
          {
            committed: (saved) => {
              if (saved) records.set(record.id, record)
              changed()
            },
          },
        )
        .then(() => {}),
    remove: (id, audit) =>
      database.change(
        async (trx) => {
          await trx.deleteFrom('keys').where('id', '=', id).execute()
          return [undefined, audit]
        },
        {
          frees: true,
          committed: () => {
            records.delete(id)
            changed()
          },
        },
      ),
  }
}
