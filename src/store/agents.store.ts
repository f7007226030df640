import type { FileRecord, OwnershipStore } from '../agents/edit/ownership.ts'
import type { Vault } from '../kernel/secrets/vault.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** The entries that Toolroom manages in agents' files. Read once, then answered from memory. */
export async function openOwnership(database: ConfigurationDatabase, vault: Vault): Promise<OwnershipStore> {
  const records = new Map<string, FileRecord>()
  for (const { id, body } of await database.db.selectFrom('agent_files').selectAll().execute()) {
    try {
      records.set(id, vault.open(`agent_file:${id}`, body) as FileRecord)
    } catch {
      throw await database.refuse(`the record of the agent file ${id} cannot be read`)
    }
  }
  let all: readonly FileRecord[] | undefined
  return {
    all: () => {
      all ??= [...records.values()]
      return all
    },
    save: async (record, audit) => {
      const id = JSON.stringify([record.path, ...record.key_path])
      const isEmpty = record.trace === null && !record.made_file && Object.keys(record.entries).length === 0
      if (isEmpty && !records.has(id) && audit === null) return
      await database.change(
        async (trx) => {
          const body = vault.seal(`agent_file:${id}`, record)
          if (isEmpty) await trx.deleteFrom('agent_files').where('id', '=', id).execute()
          else await trx.replaceInto('agent_files').values({ id, body }).execute()
          return [undefined, audit]
        },
        {
          frees: isEmpty,
          committed: () => {
            all = undefined
            if (isEmpty) records.delete(id)
            else records.set(id, record)
          },
        },
      )
    },
  }
}
