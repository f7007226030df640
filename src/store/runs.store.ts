import { createHash } from 'node:crypto'
import type { DesiredState } from '../servers/live.schema.ts'
import type { WishStore } from '../servers/wishes.ts'
import type { Catalogue, CatalogueStore } from '../upstreams/catalogues.ts'
import type { ConfigurationDatabase } from './configuration.ts'
import type { ServerTable } from './servers.store.ts'

/** What persons asked for, read once and kept in memory beside the table. */
export async function openWishes(database: ConfigurationDatabase): Promise<WishStore> {
  const wishes = new Map<string, DesiredState>()
  for (const { server_id, desired_state } of await database.db.selectFrom('wishes').selectAll().execute()) {
    if (desired_state !== 'running' && desired_state !== 'stopped')
      throw await database.refuse(`the wish for the server '${server_id}' cannot be read`)
    wishes.set(server_id, desired_state)
  }
  return {
    desired: (id) => wishes.get(id),
    forget: (id) => void wishes.delete(id),
    setDesired: (id, state, audit) =>
      database.change(
        async (trx) => {
          await trx.deleteFrom('wishes').where('server_id', '=', id).execute()
          if (state !== undefined)
            await trx.insertInto('wishes').values({ server_id: id, desired_state: state }).execute()
          return [undefined, audit]
        },
        {
          frees: state === 'stopped', // a stop must be possible on a full disk
          committed: () => (state === undefined ? wishes.delete(id) : wishes.set(id, state)),
        },
      ),
  }
}

/** What servers said of themselves. One that cannot be read is as if it had never been seen. */
export function catalogueStore(database: ConfigurationDatabase, servers: ServerTable): CatalogueStore {
  return {
    async all() {
      const rows = await database.db.selectFrom('catalogues').selectAll().execute()
      return new Map(
        rows
          .filter(({ body, digest }) => digestOf(body) === digest)
          .map(({ server_id, body }): [string, Catalogue] => [server_id, JSON.parse(body)]),
      )
    },
    save: (catalogues) =>
      database.change(async (trx) => {
        const rows = [...catalogues]
          .filter(([id]) => servers.has(id))
          .map(([server_id, catalogue]) => ({ server_id, body: JSON.stringify(catalogue) }))
          .map((row) => ({ ...row, digest: digestOf(row.body) }))
        for (const row of rows) {
          await trx.deleteFrom('catalogues').where('server_id', '=', row.server_id).execute()
          await trx.insertInto('catalogues').values(row).execute()
        }
        return [undefined, null]
      }),
  }
}

const digestOf = (text: string): string => createHash('sha256').update(text).digest('base64')
