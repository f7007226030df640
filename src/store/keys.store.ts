import type { KeyRecord } from '../gateway/keys/keys.schema.ts'
import type { KeyStore } from '../gateway/keys/keys.service.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** Gateway keys, as digests. Read once, then answered from memory. */
export async function openKeyStore(database: ConfigurationDatabase): Promise<KeyStore> {
  const rows: KeyRecord[] = await database.db.selectFrom('keys').selectAll().orderBy('created_at').execute()
  const records = new Map(rows.map((row) => [row.id, row]))
  let byDigest = new Map(rows.map((row) => [row.digest, row]))
  const rebuildIndex = () => {
    byDigest = new Map([...records.values()].map((record) => [record.digest, record]))
  }
  return {
    find: (digest) => byDigest.get(digest),
    all: () => [...records.values()],
    save: (record, audit) =>
      database
        .change(
          async (trx) => {
            if (audit === null && !records.has(record.id)) return [false, null] // the key was deleted in the meantime
            await trx.replaceInto('keys').values(record).execute()
            return [true, audit]
          },
          {
            committed: (saved) => {
              if (saved) records.set(record.id, record)
              rebuildIndex()
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
            rebuildIndex()
          },
        },
      ),
  }
}
