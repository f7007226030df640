import type { Connection } from '../../sqlite/connection.ts'

/** A range of lines small enough for one step of work. */
export interface Run {
  readonly first: number
  readonly last: number
  readonly bytes: number
  /** More lines follow in the requested range. */
  readonly more: boolean
}

const MAX_ROWS = 1000

/** At most 1000 lines from `first` to `last` with about `bytes` of text; at least one line if there is any. */
export function runOfLines(
  connection: Connection,
  first: number,
  last: number,
  bytes: number,
): Run | undefined {
  const rows = connection.rows<{ id: number; bytes: number }>(
    `SELECT id, octet_length(message) + coalesce(octet_length(data), 0) AS bytes FROM logs
     WHERE id BETWEEN ? AND ? ORDER BY id LIMIT ${MAX_ROWS + 1}`,
    first,
    last,
  )
  let run: Run | undefined
  for (const row of rows.slice(0, MAX_ROWS)) {
    const total = (run?.bytes ?? 0) + row.bytes
    if (run && total > bytes) return { ...run, more: true }
    run = { first: run?.first ?? row.id, last: row.id, bytes: total, more: rows.length > MAX_ROWS }
  }
  return run
}

export function lowestId(connection: Connection): number | null {
  return connection.row<{ id: number | null }>('SELECT min(id) AS id FROM logs')?.id ?? null
}
