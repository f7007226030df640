import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { AuditEntry } from '../kernel/facts.ts'
import type { DesiredState } from '../servers/stdio/live.schema.ts'
import type { WishStore } from '../servers/stdio/wishes.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** From one transaction to the next, at least. */
const PAUSE_MS = 10

interface Wish {
  readonly id: string
  /** Undefined: the user has none any more. */
  readonly state: DesiredState | undefined
  readonly audit: AuditEntry | null
}

/** The desired state of each server. Read once, then answered from memory. */
export async function openWishes(database: ConfigurationDatabase): Promise<WishStore> {
  const wishes = new Map<string, DesiredState>()
  for (const { server_id, desired_state } of await database.db.selectFrom('wishes').selectAll().execute()) {
    if (desired_state !== 'running' && desired_state !== 'stopped')
      throw await database.refuse(`the desired state of the server '${server_id}' cannot be read`)
    wishes.set(server_id, desired_state)
  }

  const save = (batch: readonly Wish[]) =>
    database.change(
      async (trx) => {
        for (const { id, state } of batch) {
          if (state === undefined) await trx.deleteFrom('wishes').where('server_id', '=', id).execute()
          else await trx.replaceInto('wishes').values({ server_id: id, desired_state: state }).execute()
        }
        return [undefined, batch.flatMap(({ audit }) => audit ?? [])]
      },
      {
        frees: true, // a few bytes: start and stop must work on a full disk
        committed: () => {
          for (const { id, state } of batch) {
            if (state === undefined) wishes.delete(id)
            else wishes.set(id, state)
          }
        },
      },
    )

  let next: { readonly batch: Wish[]; readonly saved: Promise<void> } | undefined
  let lastSaveAt = -PAUSE_MS
  function begin() {
    const batch: Wish[] = []
    const pauseMs = lastSaveAt + PAUSE_MS - performance.now()
    const saved = (pauseMs > 0 ? sleep(pauseMs) : nextTurn()).then(() => {
      next = undefined
      return save(batch).finally(() => {
        lastSaveAt = performance.now()
      })
    })
    return { batch, saved }
  }

  return {
    desired: (id) => wishes.get(id),
    forget: (id) => void wishes.delete(id),
    /** When all servers are started at once, each would wait for the disk. So wishes of the same moment are one transaction. */
    setDesired(id, state, audit) {
      next ??= begin()
      next.batch.push({ id, state, audit })
      return next.saved
    },
  }
}
