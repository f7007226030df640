import { isDeepStrictEqual } from 'node:util'
import type { FileRecord, Intent, OwnershipStore } from '../agents/files/ownership-store.ts'
import type { Vault } from '../kernel/secrets/vault.ts'
import type { ConfigurationDatabase, Trx } from './configuration/configuration.ts'
import type { KeyRows } from './keys.store.ts'

/**
 * The entries that Toolroom manages in agents' files, and the changes of these files that have begun. Read once, then
 * answered from memory. Gateway keys that belong to a change are saved in its transactions.
 */
export async function openOwnership(
  database: ConfigurationDatabase,
  vault: Vault,
  keys: KeyRows,
): Promise<OwnershipStore> {
  const records = new Map<string, FileRecord>()
  for (const { id, body } of await database.db.selectFrom('agent_files').selectAll().execute()) {
    try {
      records.set(id, vault.open(`agent_file:${id}`, body) as FileRecord)
    } catch {
      throw await database.refuse(`the record of the agent file ${id} cannot be read`)
    }
  }
  const intents = new Map<string, Intent>()
  for (const { id, body } of await database.db.selectFrom('agent_changes').selectAll().execute()) {
    try {
      intents.set(id, vault.open(`agent_change:${id}`, body) as Intent)
    } catch {
      throw await database.refuse(`the unfinished change ${id} of an agent's file cannot be read`)
    }
  }

  async function deleteIntent(trx: Trx, id: string): Promise<void> {
    await trx.deleteFrom('agent_changes').where('id', '=', id).execute()
  }

  async function saveRecord(trx: Trx, record: FileRecord): Promise<void> {
    const id = idOf(record)
    if (isEmpty(record)) await trx.deleteFrom('agent_files').where('id', '=', id).execute()
    else {
      const body = vault.seal(`agent_file:${id}`, record)
      await trx.replaceInto('agent_files').values({ id, body }).execute()
    }
  }

  let all: readonly FileRecord[] | undefined
  return {
    all: () => {
      all ??= [...records.values()]
      return all
    },
    pending: () => [...intents.values()],

    begin: (intent, frees) =>
      database.change(
        async (trx) => {
          const { id, newKey } = intent
          const body = vault.seal(`agent_change:${id}`, intent)
          await trx.replaceInto('agent_changes').values({ id, body }).execute()
          if (newKey) await keys.insertRow(trx, newKey.record)
          return [undefined, newKey ? newKey.added : null]
        },
        {
          frees,
          committed: () => {
            intents.set(intent.id, intent)
            keys.committed(intent.newKey?.record ?? null, [])
          },
        },
      ),

    commit: async ({ id, records: given, removedKeys, audit }, frees) => {
      const changed = given.filter((record) => {
        const before = records.get(idOf(record))
        return isEmpty(record) ? before !== undefined : !isDeepStrictEqual(before, record)
      })
      const removed = removedKeys.filter((key) => keys.has(key.id))
      if (!intents.has(id) && changed.length === 0 && removed.length === 0 && audit === null) return
      await database.change(
        async (trx) => {
          await deleteIntent(trx, id)
          for (const record of changed) await saveRecord(trx, record)
          for (const key of removed) await keys.deleteRow(trx, key.id)
          return [undefined, [...(audit ? [audit] : []), ...removed.map((key) => key.audit)]]
        },
        {
          frees,
          committed: () => {
            intents.delete(id)
            all = undefined
            for (const record of changed)
              if (isEmpty(record)) records.delete(idOf(record))
              else records.set(idOf(record), record)
            keys.committed(
              null,
              removed.map((key) => key.id),
            )
          },
        },
      )
    },

    cancel: ({ id, newKey }) =>
      database.change(
        async (trx) => {
          await deleteIntent(trx, id)
          if (!newKey || !keys.has(newKey.record.id)) return [undefined, null]
          await keys.deleteRow(trx, newKey.record.id)
          return [undefined, newKey.removed]
        },
        {
          frees: true,
          committed: () => {
            intents.delete(id)
            keys.committed(null, newKey ? [newKey.record.id] : [])
          },
        },
      ),

    makeRoom: () => database.reserve.release(),
  }
}

const idOf = ({ path, key_path }: FileRecord): string => JSON.stringify([path, ...key_path])

const isEmpty = ({ trace, made_file, entries, keys = [], taken_over = null }: FileRecord): boolean =>
  trace === null &&
  !made_file &&
  Object.keys(entries).length === 0 &&
  keys.length === 0 &&
  taken_over === null
