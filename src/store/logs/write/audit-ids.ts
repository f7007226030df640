import type { AuditIds } from '../../../observe/logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'

const AUDIT_ID = "CASE WHEN json_valid(data) THEN json_extract(data, '$.audit_id') END"
const AUDIT_LINES = "logs INDEXED BY logs_source WHERE source = 'audit' AND source <> 'server'"

/** The audit rows that have a line. */
export function readAuditIds(connection: Connection): AuditIds {
  const sql = `SELECT ${AUDIT_ID} AS id FROM ${AUDIT_LINES}`
  const ids = connection.rows<{ id: unknown }>(sql).map(({ id }) => id)
  const trimmed = connection.row<{ value: number }>("SELECT value FROM meta WHERE key = 'audit_trimmed_to'")
  return { trimmed_to: trimmed?.value ?? 0, stored: ids.filter((id) => Number.isSafeInteger(id)) as number[] }
}

/** Remembers which audit lines are deleted because of their age. Call in the transaction that deletes them. */
export function saveAuditTrimmed(connection: Connection, lastId: number): void {
  const highest = `SELECT max(${AUDIT_ID}) AS id FROM ${AUDIT_LINES} AND id <= ?`
  const id = connection.row<{ id: number | null }>(highest, lastId)?.id
  if (typeof id !== 'number') return
  const sql = `INSERT INTO meta (key, value) VALUES ('audit_trimmed_to', ?)
    ON CONFLICT (key) DO UPDATE SET value = max(value, excluded.value)`
  connection.run(sql, id)
}
