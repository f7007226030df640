import type { Vault } from '../kernel/secrets/vault.ts'
import type { StoredTry, TryStore } from '../servers/shared/tries.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import type { ServerTable } from './servers.store.ts'

/** The last try of each server, sealed. One that cannot be read is skipped: the server counts as not tried. */
export function tryStore(database: ConfigurationDatabase, vault: Vault, servers: ServerTable): TryStore {
  return {
    async all() {
      const rows = await database.db.selectFrom('tries').selectAll().execute()
      const tries = new Map<string, StoredTry>()
      for (const { server_id, sealed } of rows) {
        try {
          tries.set(server_id, vault.open(tryPlace(server_id), sealed) as StoredTry)
        } catch {
          // damaged, or of another key
        }
      }
      return tries
    },
    save: (changed) =>
      database.change(async (trx) => {
        for (const [server_id, stored] of changed) {
          if (stored === undefined) await trx.deleteFrom('tries').where('server_id', '=', server_id).execute()
          else if (servers.has(server_id)) {
            const sealed = vault.seal(tryPlace(server_id), stored)
            await trx.replaceInto('tries').values({ server_id, sealed }).execute()
          }
        }
        return [undefined, null]
      }),
  }
}

const tryPlace = (serverId: string): string => `${serverId}:try`
