import type { Vault } from '../kernel/secrets/vault.ts'
import type { SavedCallRecord, SavedCallStore } from '../observe/calls/saved-calls.service.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** The calls that users saved. Read once, then answered from memory. */
export async function openSavedCalls(database: ConfigurationDatabase, vault: Vault): Promise<SavedCallStore> {
  const records = new Map<string, SavedCallRecord>()
  for (const { id, body } of await database.db.selectFrom('saved_calls').selectAll().execute()) {
    try {
      records.set(id, vault.open(placeOf(id), body) as SavedCallRecord)
    } catch {
      throw await database.refuse(`the saved call '${id}' cannot be read`)
    }
  }
  return {
    all: () => [...records.values()],
    get: (id) => records.get(id),
    put: (record, audit) => {
      const { id } = record
      const row = { id, body: vault.seal(placeOf(id), record) }
      return database.put('saved_calls', row, audit, { committed: () => records.set(id, record) })
    },
    remove: (id, audit) =>
      database.change(
        async (trx) => {
          if (!records.has(id)) return [false, null]
          await trx.deleteFrom('saved_calls').where('id', '=', id).execute()
          return [true, audit]
        },
        { frees: true, committed: (removed) => removed && records.delete(id) },
      ),
  }
}

const placeOf = (id: string): string => `saved_call:${id}`
