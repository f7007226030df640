import { join } from 'node:path'
import type { OpenStores } from '../../src/compose/logging.ts'
import { SqliteCallStore } from '../../src/store/calls/sqlite-call-store.ts'
import { SqliteLogStore } from '../../src/store/logs/sqlite-log-store.ts'

/** The real stores in the test's own thread, because tests have no built worker. */
export const openStoresHere: OpenStores = async (options) => {
  const { folder, maxBytes, keepsPayloads, onTrouble, onDamaged, onDiscarded } = options
  return {
    logs: new SqliteLogStore({
      path: join(folder, 'logs.db'),
      maxBytes,
      onDamaged,
      onDiscarded,
      onError: (error) => onTrouble(error.message),
    }),
    calls: new SqliteCallStore({ path: join(folder, 'calls.db'), keepsPayloads, onTrouble }),
  }
}
