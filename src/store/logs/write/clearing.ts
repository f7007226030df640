import type { ResolvedFilter } from '../../../logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'
import { logQuery } from '../read/query.ts'
import { type Reading, startWalk } from '../read/reading.ts'
import { countDeleted } from './server-shares.ts'

/** Up to so many audit lines are put aside in memory while everything else is deleted at once. */
const MOST_KEPT = 20_000

/** Deletes what the filter selects, except audit lines, and says how many lines that were. */
export async function clearLines(reading: Reading, filter: ResolvedFilter): Promise<number> {
  const { connection, index } = reading
  const query = logQuery(filter, true)
  const everything = query.conditions.length === 1
  const deleted =
    everything && auditLines(connection) <= MOST_KEPT
      ? clearAll(reading)
      : await clearSelected(reading, filter, query)
  const emptied = 'NOT EXISTS (SELECT 1 FROM logs WHERE id BETWEEN first_id AND last_id)'
  connection.run(`DELETE FROM spans WHERE ${emptied}`)
  index.dropEmptied()
  return deleted
}

const AUDIT = "logs INDEXED BY logs_source WHERE source = 'audit' AND source <> 'server'"

function auditLines(connection: Connection): number {
  const sql = `SELECT count(*) AS rows FROM (SELECT 1 FROM ${AUDIT} LIMIT ${MOST_KEPT + 1})`
  return connection.row<{ rows: number }>(sql)?.rows ?? 0
}

/** A table that loses all its rows at once only hands back its pages: a million lines in a fifth of a second. */
function clearAll({ connection, index }: Reading): number {
  index.dropAll()
  return connection.transaction(() => {
    connection.exec(`CREATE TEMP TABLE kept AS SELECT * FROM ${AUDIT}`)
    const before = connection.run('DELETE FROM logs')
    const kept = connection.run('INSERT INTO logs SELECT * FROM kept')
    connection.exec('DROP TABLE kept; DELETE FROM shares')
    return before - kept
  })
}

async function clearSelected(
  reading: Reading,
  filter: ResolvedFilter,
  query: ReturnType<typeof logQuery>,
): Promise<number> {
  const walk = startWalk(reading, filter, query, 'asc', null)
  let deleted = 0
  for (let ids = walk.step(); ids; ids = walk.step()) {
    if (ids.length > 0) deleted += deleteLines(reading.connection, JSON.stringify(ids))
    await reading.pause()
  }
  return deleted
}

function deleteLines(connection: Connection, ids: string): number {
  const among = 'id IN (SELECT value FROM json_each(?))'
  return connection.transaction(() => {
    countDeleted(connection, among, ids)
    return connection.run(`DELETE FROM logs WHERE ${among}`, ids)
  })
}
