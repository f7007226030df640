import type { Discarded } from '../../../observe/logs/log-store.ts'
import type { Connection } from '../../sqlite/connection.ts'
import { BYTES, countDeleted, DELETE_SPANS } from './server-shares.ts'

const MAX_ROWS = 1000

interface Given {
  readonly ids: readonly number[]
  readonly lines: readonly Discarded[]
}

/**
 * Deletes the oldest lines until about this many bytes are free, at most 1000 lines. Audit lines stay: they are few, and
 * they record changes that no other line shows.
 */
export function deleteOldest(connection: Connection, bytes: number): Given {
  const rows = connection.rows<{ id: number; bytes: number }>(
    `SELECT id, ${BYTES} AS bytes FROM logs WHERE source <> 'audit' ORDER BY id LIMIT ${MAX_ROWS}`,
  )
  let freed = 0
  const enough = rows.findIndex((row) => {
    freed += row.bytes
    return freed >= bytes
  })
  const ids = rows.slice(0, enough === -1 ? rows.length : enough + 1).map(({ id }) => id)
  const [first, last] = [ids.at(0), ids.at(-1)]
  if (first === undefined || last === undefined) return { ids, lines: [] }
  const lines = connection.transaction(() => {
    const found = connection.rows<{ server_id: string | null; lines: number }>(COUNT, last)
    countDeleted(connection, 'id <= ?', last)
    connection.run("DELETE FROM logs WHERE id <= ? AND source <> 'audit'", last)
    connection.run(DELETE_SPANS, first, last)
    return found
  })
  return { ids, lines }
}

/** Lines by the server that wrote them; null for all others, including notes about a server. */
const COUNT = `
  SELECT iif(source = 'server' AND stream IS NOT NULL, server_id, NULL) AS server_id, sum(repeat) AS lines
  FROM logs NOT INDEXED WHERE id <= ? AND source <> 'audit' GROUP BY 1`
