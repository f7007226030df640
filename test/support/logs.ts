import { join } from 'node:path'
import type { OpenLogs } from '../../src/compose/service.ts'
import type { LogStore } from '../../src/logs/log-store.ts'
import { SqliteLogStore } from '../../src/store/logs/sqlite-log-store.ts'

/** The real log store in the test's own thread, because tests have no built worker. */
export async function openLogsHere({ folder, maxBytes, onTrouble }: OpenLogs): Promise<LogStore> {
  const path = join(folder, 'logs.db')
  return new SqliteLogStore({
    path,
    maxBytes,
    onDamaged: onTrouble,
    onError: (error) => onTrouble(error.message),
  })
}
