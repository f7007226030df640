import type { Pin, PinKey } from '../gateway/pins/pin-map.ts'
import type { PinStore } from '../gateway/pins/tool-pins.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'
import type { Tables } from './configuration/tables.ts'
import type { ServerTable } from './servers.store.ts'

/** SQLite limits the number of parameters in a statement. */
const PINS_PER_STATEMENT = 100

/** Approved tool definitions. */
export function pinStore(database: ConfigurationDatabase, servers: Pick<ServerTable, 'has'>): PinStore {
  return {
    async all() {
      const rows = await database.db.selectFrom('tool_pins').selectAll().execute()
      return rows.filter(({ server_id }) => servers.has(server_id)).flatMap(pinIn)
    },
    save: (keys, pinOf, change) =>
      database.change(
        async (trx) => {
          for (let from = 0; from < keys.length; from += PINS_PER_STATEMENT) {
            const some = keys.slice(from, from + PINS_PER_STATEMENT)
            for (const [server_id, tools] of byServer(some))
              await trx
                .deleteFrom('tool_pins')
                .where('server_id', '=', server_id)
                .where('tool', 'in', tools)
                .execute()
            const rows = some
              .map(pinOf)
              .filter((pin) => pin !== undefined)
              .filter(({ server_id }) => servers.has(server_id))
              .map((pin) => ({ ...pin, tool: JSON.stringify(pin.tool) }))
            if (rows.length > 0) await trx.insertInto('tool_pins').values(rows).execute()
          }
          return [undefined, change?.audit ?? null]
        },
        { committed: () => change?.committed() },
      ),
  }
}

/** Skips a pin whose name is damaged. */
function pinIn(row: Tables['tool_pins']): Pin[] {
  try {
    return [{ ...row, tool: JSON.parse(row.tool) }]
  } catch {
    return []
  }
}

function byServer(keys: readonly PinKey[]): Map<string, string[]> {
  const tools = new Map<string, string[]>()
  for (const { server_id, tool } of keys)
    tools.set(server_id, [...(tools.get(server_id) ?? []), JSON.stringify(tool)])
  return tools
}
