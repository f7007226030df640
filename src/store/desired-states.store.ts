import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import type { AuditEntry } from '../kernel/fact-bus.ts'
import type { DesiredStates } from '../servers/stdio/lifecycle.ts'
import type { DesiredState } from '../servers/stdio/servers.schema.ts'
import type { ConfigurationDatabase } from './configuration/configuration.ts'

/** From one transaction to the next, at least. */
const PAUSE_MS = 10

interface DesiredChange {
  readonly id: string
  /** Undefined: it is not set any more. */
  readonly state: DesiredState | undefined
  readonly audit: AuditEntry | null
}

/** The desired state of each server. Read once, then answered from memory. Its table keeps its older name, `wishes`. */
export async function openDesiredStates(database: ConfigurationDatabase): Promise<DesiredStates> {
  const desiredStates = new Map<string, DesiredState>()
  for (const { server_id, desired_state } of await database.db.selectFrom('wishes').selectAll().execute()) {
    if (desired_state !== 'running' && desired_state !== 'stopped')
      throw await database.refuse(`the desired state of the server '${server_id}' cannot be read`)
    desiredStates.set(server_id, desired_state)
  }

  const save = (batch: readonly DesiredChange[]) =>
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
            if (state === undefined) desiredStates.delete(id)
            else desiredStates.set(id, state)
          }
        },
      },
    )

  let next: { readonly batch: DesiredChange[]; readonly saved: Promise<void> } | undefined
  let lastSaveAt = -PAUSE_MS
  function begin() {
    const batch: DesiredChange[] = []
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
    desired: (id) => desiredStates.get(id),
    forget: (id) => void desiredStates.delete(id),
    /** When all servers are started at once, each would wait for the disk. So changes of the same moment are one transaction. */
    setDesired(id, state, audit) {
      next ??= begin()
      next.batch.push({ id, state, audit })
      return next.saved
    },
  }
}
