import type { DesiredState } from '../servers/live.schema.ts'
import type { WishStore } from '../servers/wishes.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** The desired state of each server. Read once, then answered from memory. */
export async function openWishes(database: ConfigurationDatabase): Promise<WishStore> {
  const wishes = new Map<string, DesiredState>()
  for (const { server_id, desired_state } of await database.db.selectFrom('wishes').selectAll().execute()) {
    if (desired_state !== 'running' && desired_state !== 'stopped')
      throw await database.refuse(`the desired state of the server '${server_id}' cannot be read`)
    wishes.set(server_id, desired_state)
  }
  return {
    desired: (id) => wishes.get(id),
    forget: (id) => void wishes.delete(id),
    setDesired: (id, state, audit) =>
      database.change(
        async (trx) => {
          if (state === undefined) await trx.deleteFrom('wishes').where('server_id', '=', id).execute()
          else await trx.replaceInto('wishes').values({ server_id: id, desired_state: state }).execute()
          return [undefined, audit]
        },
        {
          frees: true, // a few bytes: start and stop must work on a full disk
          committed: () => (state === undefined ? wishes.delete(id) : wishes.set(id, state)),
        },
      ),
  }
}
