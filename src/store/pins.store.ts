import type { Pin, PinKey } from '../gateway/pins/pinned-definitions.ts'
import type { PinStore } from '../gateway/pins/pins.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import type { Tables } from './configuration/tables.ts'
import type { ServerTable } from './servers.store.ts'

/** SQLite limits the number of parameters in a statement. */
const PINS_PER_STATEMENT = 100

/** Approved definitions. */
export function pinStore(database: ConfigurationDatabase, servers: Pick<ServerTable, 'has'>): PinStore {
  return {
    async all() {
      const rows = await database.db.selectFrom('pins').selectAll().execute()
      return rows.filter(({ server_id }) => servers.has(server_id)).flatMap(pinIn)
    },
    save: (keys, pinOf, change) =>
      database.change(
        async (trx) => {
          for (let from = 0; from < keys.length; from += PINS_PER_STATEMENT) {
            const some = keys.slice(from, from + PINS_PER_STATEMENT)
            for (const { server_id, kind, names } of byList(some))
              await trx
                .deleteFrom('pins')
                .where('server_id', '=', server_id)
                .where('kind', '=', kind)
                .where('name', 'in', names)
                .execute()
            const rows = some
              .map(pinOf)
              .filter((pin) => pin !== undefined)
              .filter(({ server_id }) => servers.has(server_id))
              .map((pin) => ({ ...pin, name: JSON.stringify(pin.name) }))
            if (rows.length > 0) await trx.insertInto('pins').values(rows).execute()
          }
          return [undefined, change?.audit ?? null]
        },
        { committed: () => change?.committed() },
      ),
  }
}

/** Skips a pin whose name is damaged. */
function pinIn(row: Tables['pins']): Pin[] {
  try {
    return [{ ...row, name: JSON.parse(row.name) }]
  } catch {
    return []
  }
}

/** The keys of each list of each server. */
function byList(keys: readonly PinKey[]) {
  const lists = new Map<string, Pick<PinKey, 'server_id' | 'kind'> & { readonly names: string[] }>()
  for (const { server_id, kind, name } of keys) {
    const list = lists.get(`${kind} ${server_id}`) ?? { server_id, kind, names: [] }
    list.names.push(JSON.stringify(name))
    lists.set(`${kind} ${server_id}`, list)
  }
  return lists.values()
}
