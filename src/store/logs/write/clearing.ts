import type { ResolvedFilter } from '../../../observe/logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'
import { logQuery } from '../read/log-query.ts'
import { type ReadContext, startWalk } from '../read/page-reader.ts'
import { countDeleted } from './server-shares.ts'

/** How many audit lines may be held in memory while all other lines are deleted at once. */
const MAX_AUDIT_LINES = 20_000

/** Deletes matching lines except audit lines, and returns how many were deleted. */
export async function clearLines(context: ReadContext, filter: ResolvedFilter): Promise<number> {
  const { connection, index } = context
  const query = logQuery(filter, true)
  const everything = query.conditions.length === 1
  const deleted =
    everything && auditLines(connection) <= MAX_AUDIT_LINES
      ? clearAll(context)
      : await clearSelected(context, filter, query)
  const emptied = 'NOT EXISTS (SELECT 1 FROM logs WHERE id BETWEEN first_id AND last_id)'
  connection.run(`DELETE FROM spans WHERE ${emptied}`)
  index.dropSparse()
  return deleted
}

const AUDIT = "logs INDEXED BY logs_source WHERE source = 'audit' AND source <> 'server'"

function auditLines(connection: Connection): number {
  const sql = `SELECT count(*) AS rows FROM (SELECT 1 FROM ${AUDIT} LIMIT ${MAX_AUDIT_LINES + 1})`
  return connection.row<{ rows: number }>(sql)?.rows ?? 0
}

/** Deleting all rows of a table only frees its pages: a million lines take 0.2 s. */
function clearAll({ connection, index }: ReadContext): number {
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
  context: ReadContext,
  filter: ResolvedFilter,
  query: ReturnType<typeof logQuery>,
): Promise<number> {
  const walk = startWalk(context, filter, query, 'asc', null)
  let deleted = 0
  for (let ids = walk.step(); ids; ids = walk.step()) {
    if (ids.length > 0) deleted += deleteLines(context.connection, JSON.stringify(ids))
    await context.pause()
  }
  return deleted
}

function deleteLines(connection: Connection, ids: string): number {
  const where = 'id IN (SELECT value FROM json_each(?))'
  return connection.transaction(() => {
    countDeleted(connection, where, ids)
    return connection.run(`DELETE FROM logs WHERE ${where}`, ids)
  })
}
