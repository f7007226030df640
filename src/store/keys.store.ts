import type { KeyStore } from '../gateway/keys/keys.service.ts'
import type { KeyRecord } from '../kernel/secrets/vault.ts'
import type { ConfigurationDatabase, Trx } from './configuration/configuration.ts'

/** Keys that are saved or removed in the transaction of another change. */
export interface KeyRows {
  has(id: string): boolean
  insertRow(trx: Trx, record: KeyRecord): Promise<void>
  deleteRow(trx: Trx, id: string): Promise<void>
  /** After the commit. */
  committed(added: KeyRecord | null, removed: readonly string[]): void
}

/**
 * Gateway keys, as digests. Read once, then answered from memory. `typeOf` resolves an alias of an agent, so that a
 * key that was saved with one has the settings of its agent.
 */
export async function openKeyStore(
  database: ConfigurationDatabase,
  typeOf: (agentType: string) => string,
): Promise<KeyStore & KeyRows> {
  const rows: KeyRecord[] = await database.db.selectFrom('keys').selectAll().orderBy('created_at').execute()
  const records = new Map(rows.map((row) => [row.id, { ...row, agent_type: typeOf(row.agent_type) }]))
  let byDigest = new Map<string, KeyRecord>()
  const rebuildIndex = () => {
    byDigest = new Map([...records.values()].map((record) => [record.digest, record]))
  }
  rebuildIndex()

  async function insertRow(trx: Trx, record: KeyRecord): Promise<void> {
    await trx.replaceInto('keys').values(record).execute()
  }
  async function deleteRow(trx: Trx, id: string): Promise<void> {
    await trx.deleteFrom('keys').where('id', '=', id).execute()
  }
  function committed(added: KeyRecord | null, removed: readonly string[]): void {
    if (added) records.set(added.id, added)
    for (const id of removed) records.delete(id)
    rebuildIndex()
  }

  return {
    find: (digest) => byDigest.get(digest),
    all: () => [...records.values()],
    has: (id) => records.has(id),
    insertRow,
    deleteRow,
    committed,
    save: (record, audit) =>
      database
        .change(
          async (trx) => {
            if (audit === null && !records.has(record.id)) return [false, null] // the key was deleted in the meantime
            await insertRow(trx, record)
            return [true, audit]
          },
          { committed: (saved) => committed(saved ? record : null, []) },
        )
        .then(() => {}),
    remove: (id, audit) => database.delete('keys', ['id', id], audit, () => committed(null, [id])),
  }
}
