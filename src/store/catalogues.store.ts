import type { CatalogueStore, StoredCatalogue } from '../servers/shared/catalogues.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import { digestOf } from './digest.ts'
import type { ServerTable } from './servers.store.ts'

/** Cached server catalogues. A damaged row is skipped; the next start of the server writes it again. */
export function catalogueStore(database: ConfigurationDatabase, servers: ServerTable): CatalogueStore {
  return {
    async all() {
      const rows = await database.db.selectFrom('catalogues').selectAll().execute()
      return new Map(
        rows
          .filter(({ body, digest }) => digestOf(body) === digest)
          .map(({ server_id, body }): [string, StoredCatalogue] => [server_id, JSON.parse(body)]),
      )
    },
    save: (catalogues) =>
      database.change(async (trx) => {
        const rows = [...catalogues]
          .filter(([id]) => servers.has(id))
          .map(([server_id, catalogue]) => ({ server_id, body: JSON.stringify(catalogue) }))
          .map((row) => ({ ...row, digest: digestOf(row.body) }))
        for (const row of rows) await trx.replaceInto('catalogues').values(row).execute()
        return [undefined, null]
      }),
  }
}
