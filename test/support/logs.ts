import { join } from 'node:path'
import type { OpenLogs } from '../../src/compose/logging.ts'
import { SqliteLogStore } from '../../src/store/logs/sqlite-log-store.ts'

/** The real log store in the test's own thread, because tests have no built worker. */
export const openLogsHere: OpenLogs = async ({ folder, maxBytes, onTrouble, onDamaged, onDiscarded }) => {
  const path = join(folder, 'logs.db')
  return new SqliteLogStore({
    path,
    maxBytes,
    onDamaged,
    onDiscarded,
    onError: (error) => onTrouble(error.message),
  })
}
